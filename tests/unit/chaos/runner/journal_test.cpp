#include "chaos/runner/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "chaos/runner/replay.h"

namespace outrigger::chaos {
namespace {

using testing::HasSubstr;

constexpr std::string_view kStart = R"({"seq":1,"at":"t","run":"R","event":"start","scenario":"slow"})"
                                    "\n";
constexpr std::string_view kIntent = R"({"seq":2,"at":"t","run":"R","event":"intent","armed_id":"chaos-r-f","driver":"sidecar","admin":"unix:///a"})"
                                     "\n";
constexpr std::string_view kApplied = R"({"seq":3,"at":"t","run":"R","event":"applied","armed_id":"chaos-r-f"})"
                                      "\n";
constexpr std::string_view kReverted = R"({"seq":4,"at":"t","run":"R","event":"reverted","armed_id":"chaos-r-f"})"
                                       "\n";
constexpr std::string_view kVerified = R"({"seq":5,"at":"t","run":"R","event":"verified","armed_id":"chaos-r-f"})"
                                       "\n";
constexpr std::string_view kEnd = R"({"seq":6,"at":"t","run":"R","event":"end","exit_code":5})"
                                  "\n";

std::string joined(std::initializer_list<std::string_view> lines) {
  std::string out;
  for (const auto line : lines) {
    out += line;
  }
  return out;
}

JournalState replayed(const std::string& text) {
  const auto state = replay(text, "j.jsonl");
  EXPECT_TRUE(state.has_value()) << state.error().to_string();
  return state.value_or(JournalState{});
}

TEST(Replay, AFaultIsOpenFromItsIntentUntilItsEndIsVerified) {
  EXPECT_TRUE(replayed(joined({kStart})).open.empty());
  EXPECT_EQ(replayed(joined({kStart, kIntent})).open.size(), 1U);
  EXPECT_EQ(replayed(joined({kStart, kIntent, kApplied})).open.front().last_event, "applied");
  EXPECT_EQ(replayed(joined({kStart, kIntent, kApplied, kReverted})).open.size(), 1U) << "reverted is not yet seen to be gone";
  EXPECT_TRUE(replayed(joined({kStart, kIntent, kApplied, kReverted, kVerified})).open.empty());
}

TEST(Replay, AJournalWithoutEndWasInterrupted) {
  EXPECT_FALSE(replayed(joined({kStart, kIntent})).exit_code.has_value());
  EXPECT_EQ(replayed(joined({kStart, kIntent, kVerified, kEnd})).exit_code, 5);
}

TEST(Replay, EveryCutOfAJournalIsReadAndNeverForgetsAnAppliedFault) {
  const auto whole = joined({kStart, kIntent, kApplied, kReverted, kVerified, kEnd});
  const auto applied_from = kStart.size() + kIntent.size();
  const auto verified_at = applied_from + kApplied.size() + kReverted.size() + kVerified.size();
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const auto state = replayed(whole.substr(0, cut));
    EXPECT_EQ(state.open.size(), cut >= applied_from && cut < verified_at ? 1U : 0U) << "cut at " << cut;
    EXPECT_LE(state.whole_bytes, cut);
  }
}

TEST(Replay, AnotherFileIsRefusedWithItsLine) {
  const auto not_json = replay(joined({kStart, "hello\n"}), "j.jsonl");
  ASSERT_FALSE(not_json.has_value());
  EXPECT_THAT(not_json.error().to_string(), HasSubstr("j.jsonl:2"));
  EXPECT_FALSE(replay("{\"level\":\"info\"}\n", "j.jsonl").has_value());
  EXPECT_FALSE(
      replay(joined({kStart, "{\"seq\":2,\"run\":\"other\",\"event\":\"intent\",\"armed_id\":\"x\",\"driver\":\"d\",\"admin\":\"a\"}\n"}), "j.jsonl")
          .has_value())
      << "an intent of another run is not ours to end";
}

class JournalFile : public testing::Test {
 protected:
  JournalFile() {
    path_ = std::filesystem::path(testing::TempDir()) / ("chaos-journal-" + std::to_string(getpid()));
    std::filesystem::remove(path_);
  }
  ~JournalFile() override { std::filesystem::remove(path_); }
  std::string text() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path path_;
};

TEST_F(JournalFile, IsOnTheDiskWhenAppendReturnsAndIsReadBack) {
  auto journal = Journal::create(path_, "R");
  ASSERT_TRUE(journal) << journal.error().to_string();
  ASSERT_TRUE((*journal)->append("start", {{"scenario", "slow"}}));
  ASSERT_TRUE((*journal)->append("intent", {{"armed_id", "x"}, {"driver", "sidecar"}, {"admin", "unix:///a"}}));
  const auto state = replayed(text());
  EXPECT_EQ(state.run_id, "R");
  EXPECT_EQ(state.last_sequence, 2U);
  EXPECT_EQ(state.open.size(), 1U);
}

TEST_F(JournalFile, DoesNotOverwriteAnEarlierRun) {
  ASSERT_TRUE(Journal::create(path_, "R"));
  const auto second = Journal::create(path_, "S");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
}

TEST_F(JournalFile, CannotBeRecoveredWhileItsRunGoesOn) {
  const auto journal = Journal::create(path_, "R");
  ASSERT_TRUE(journal);
  const auto second = Journal::reopen(path_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kFailedPrecondition);
}

TEST_F(JournalFile, GoesOnAfterATornLine) {
  std::ofstream(path_) << kStart << kIntent << R"({"seq":3,"at")";
  auto journal = Journal::reopen(path_);
  ASSERT_TRUE(journal) << journal.error().to_string();
  ASSERT_TRUE((*journal)->append("verified", {{"armed_id", "chaos-r-f"}}));
  const auto state = replayed(text());
  EXPECT_TRUE(state.open.empty());
  EXPECT_EQ(state.last_sequence, 3U);
}

}  // namespace
}  // namespace outrigger::chaos
