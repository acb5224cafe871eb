#include "service/journal/internal/recent_states.h"

#include <format>

#include <gtest/gtest.h>

namespace outrigger::journal {
namespace {

RecentStates::StatePointer make_state(std::string id, std::uint64_t version = 1, saga::SagaStatus status = saga::SagaStatus::kRunning) {
  auto state = std::make_shared<saga::SagaState>();
  state->id = std::move(id);
  state->version = version;
  state->status = status;
  return state;
}

TEST(RecentStates, HoldsWhatWasWrittenLastUntilItIsFinished) {
  RecentStates recent(100);
  EXPECT_EQ(recent.find("a"), nullptr);
  recent.wrote(make_state("a"));
  recent.wrote(make_state("a", 2));
  EXPECT_EQ(recent.find("a")->version, 2U);
  recent.wrote(make_state("a", 3, saga::SagaStatus::kCompleted));
  EXPECT_EQ(recent.find("a"), nullptr);
}

TEST(RecentStates, ForgetsWhatItIsToldTo) {
  RecentStates recent(100);
  recent.wrote(make_state("a"));
  recent.wrote(make_state("b"));
  recent.forget("a");
  recent.forget("unknown");
  EXPECT_EQ(recent.find("a"), nullptr);
  EXPECT_NE(recent.find("b"), nullptr);
  recent.clear();
  EXPECT_EQ(recent.find("b"), nullptr);
}

TEST(RecentStates, IsBoundedAndTheOldestGoFirst) {
  RecentStates recent(80);
  for (int i = 0; i < 10'000; ++i) {
    recent.wrote(make_state(std::format("{}", i)));
  }
  std::size_t held = 0;
  for (int i = 0; i < 10'000; ++i) {
    held += recent.find(std::format("{}", i)) == nullptr ? 0 : 1;
  }
  EXPECT_GT(held, 0U);
  EXPECT_LE(held, 80U + 8U);
  EXPECT_NE(recent.find("9999"), nullptr);
  EXPECT_EQ(recent.find("0"), nullptr);
}

TEST(RecentStates, FinishedSagasTakeNoRoomForEver) {
  RecentStates recent(80);
  for (int i = 0; i < 1'000; ++i) {
    recent.wrote(make_state(std::format("{}", i)));
    recent.wrote(make_state(std::format("{}", i), 2, saga::SagaStatus::kCompensated));
  }
  recent.wrote(make_state("last"));
  EXPECT_NE(recent.find("last"), nullptr);
}

}  // namespace
}  // namespace outrigger::journal
