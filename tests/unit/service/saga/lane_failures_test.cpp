// What happened to other engines, tried on real lanes over a simulated journal and clock. The list is docs/failure-modes.md.

#include <algorithm>
#include <format>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/saga/decide.h"
#include "tests/simulation/process.h"
#include "tests/support/saga_definitions.h"

namespace outrigger::testing {
namespace {

using namespace std::chrono_literals;
using participant::Command;
using participant::Direction;
using participant::Outcome;
using saga::SagaStatus;
using saga::StepStatus;

constexpr std::uint32_t kPartitions = 4;

class LaneFailures : public ::testing::TestWithParam<bool> {
 protected:
  LaneFailures() : log_(kPartitions) {
    settings_.clock = [this] { return now_; };
    catalog_.add(make_sequence({.steps = 2, .attempts = 3, .undo_attempts = 3, .timeout = 1s, .deadline = 1h})).value();
    open();
  }

  void open() {
    process_ = std::make_unique<Process>(Process::Parts{.log = log_,
                                                        .has_broker = GetParam(),
                                                        .fate = [this] { return fate_; },
                                                        .catalog = catalog_,
                                                        .settings = settings_,
                                                        .network = network_,
                                                        .make_ulid = [this] { return std::format("{:026}", ++last_ulid_); }});
    work();
  }
  void crash() {
    process_->crash();
    process_.reset();
    network_.commands.clear();
    network_.replies.clear();
  }
  /// Lets the lanes do what there is to do now.
  void work() {
    for (int i = 0; i < 20; ++i) {
      process_->turn(SIZE_MAX);
    }
    if (GetParam()) {
      std::ranges::move(log_.take_commands(), std::back_inserter(network_.commands));
    }
  }
  /// Longer than the next restore is put off after a write that failed.
  void pass_a_moment() {
    now_ += 150ms;
    work();
  }
  void put_start(const std::string& key) {
    auto start =
        start_of_sequence(catalog_, key, kPartitions, [this](const Result<saga::Started>& started) { answers_ += started.has_value() ? 1 : 0; });
    auto& mailbox = process_->lane_of(start.partition).mailbox();
    saga::Request request = std::move(start);
    ASSERT_TRUE(mailbox.put(request));
  }
  void start(const std::string& key) {
    put_start(key);
    work();
  }
  std::vector<Command> sent() { return std::exchange(network_.commands, {}); }
  void answer(const Command& command, Outcome outcome = Outcome::kSuccess) {
    auto reply = participant::reply_to(command, outcome, "{}", "because");
    if (GetParam()) {
      log_.append_input(reply);
    } else {
      ASSERT_TRUE(process_->lane_of(reply.partition).mailbox().put(reply));
    }
  }
  std::vector<saga::SagaState> sagas() const {
    std::vector<saga::SagaState> all;
    for (const auto& [id, bytes] : log_.states()) {
      all.push_back(saga::decode(bytes).value());
    }
    return all;
  }

  WallTime now_{1'700'000'000'000ms};
  CommitFate fate_ = CommitFate::kCommitted;
  SimulatedLog log_;
  saga::EngineSettings settings_;
  saga::Catalog catalog_;
  Network network_;
  std::unique_ptr<Process> process_;
  std::uint64_t last_ulid_ = 0;
  int answers_ = 0;
};

// camunda/camunda#61297
TEST_P(LaneFailures, EveryDeadlineThatPassedWhileNobodyRanFiresRightAfterTheRestore) {
  for (int i = 0; i < 20; ++i) {
    start("key-" + std::to_string(i));
  }
  crash();
  now_ += 2s;
  open();
  for (const auto& saga : sagas()) {
    EXPECT_EQ(saga.steps[0].status, StepStatus::kUnknown) << saga.id;
    EXPECT_GT(*saga::next_due(saga), now_);
  }
}

// camunda/camunda#11594
TEST_P(LaneFailures, ABurstOfDueTimersLeavesRoomForStarts) {
  for (int i = 0; i < 400; ++i) {
    start("key-" + std::to_string(i));
  }
  now_ += 2s;
  answers_ = 0;
  put_start("another");
  process_->turn(SIZE_MAX);
  EXPECT_EQ(answers_, 1) << "answered by the lane's next commit, whatever is due";
  work();
  const auto all = sagas();
  EXPECT_EQ(std::ranges::count_if(all, [](const auto& saga) { return saga.steps[0].status == StepStatus::kUnknown; }), 400);
}

// dapr/dapr#9744
TEST_P(LaneFailures, CrashesDoNotGiveAStepItsAttemptsAgain) {
  start("key");
  std::uint32_t most = 0;
  for (int i = 0; i < 20 && sagas()[0].status == SagaStatus::kRunning; ++i) {
    most = std::max(most, sagas()[0].steps[0].attempt);
    crash();
    now_ = std::max(now_, saga::next_due(sagas()[0]).value_or(now_));
    open();  // and dies again at once
  }
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(sagas()[0].status, SagaStatus::kCompensating);
}

TEST_P(LaneFailures, WhatWasInFlightIsSentAgainAfterARestartUnlessItsTimeIsUp) {
  start("key");
  ASSERT_EQ(sent().size(), 1U);
  crash();
  open();
  EXPECT_EQ(sent().size(), GetParam() ? 0U : 1U) << "a broker has kept it";
  crash();
  now_ += 1s;
  open();
  EXPECT_TRUE(sent().empty()) << "the attempt is over, the next one waits for its backoff";
  EXPECT_EQ(sagas()[0].steps[0].status, StepStatus::kUnknown);
}

// dapr/dapr#8323
TEST_P(LaneFailures, AFailedWriteLeavesNeitherAStateWithoutItsDeadlineNorTheReverse) {
  start("key");
  for (const auto fate : {CommitFate::kLost, CommitFate::kUnknown}) {
    now_ = *saga::next_due(sagas()[0]);
    const auto before = sagas()[0];
    fate_ = fate;
    process_->turn(SIZE_MAX);
    fate_ = CommitFate::kCommitted;
    EXPECT_EQ(sagas()[0].version, before.version + (fate == CommitFate::kUnknown ? 1 : 0));
    pass_a_moment();
    pass_a_moment();
    const auto after = sagas()[0];
    ASSERT_TRUE(saga::next_due(after).has_value());
    EXPECT_GT(*saga::next_due(after), now_) << "what was due has fired, whether the first write counted or not";
  }
}

// Netflix/conductor#3789, eventuate-tram/eventuate-tram-sagas#40
TEST_P(LaneFailures, ARestartTakesRepliesInWithoutAnyStart) {
  start("key");
  const auto command = sent().at(0);
  crash();
  open();
  answer(command);
  work();
  const auto again = sent();
  EXPECT_TRUE(std::ranges::any_of(again, [](const Command& each) { return each.type == "Do2"; }));
}

// MassTransit/MassTransit#374
TEST_P(LaneFailures, NobodyIsAnsweredAndNothingIsSentBeforeTheCommit) {
  fate_ = CommitFate::kLost;
  put_start("key");
  process_->turn(SIZE_MAX);
  EXPECT_EQ(answers_, 0);
  EXPECT_TRUE(log_.states().empty());
  EXPECT_TRUE(sent().empty());
}

// dapr/dapr#9903, apache/kafka#17822: the same commands and replies any number of times.
TEST_P(LaneFailures, EverySendOfAStepHasOneKeyWhateverCrashes) {
  start("key");
  std::set<std::string> keys;
  for (int i = 0; i < 3; ++i) {
    for (const auto& command : sent()) {
      keys.insert(command.idempotency_key());
    }
    crash();
    now_ = *saga::next_due(sagas()[0]);
    open();
  }
  for (const auto& command : sent()) {
    keys.insert(command.idempotency_key());
  }
  EXPECT_EQ(keys.size(), 1U);
}

// restatedev/restate#1714
TEST_P(LaneFailures, AFinishedSagaIsRemovedThoughThePlannerOfItsRemovalCrashed) {
  start("key");
  answer(sent().at(0));
  work();
  answer(sent().at(0));
  work();
  ASSERT_EQ(sagas().at(0).status, SagaStatus::kCompleted);
  crash();
  now_ += settings_.retention + 1h;
  open();
  EXPECT_TRUE(log_.states().empty());
}

// confluentinc/librdkafka#1442
TEST_P(LaneFailures, RepliesThatAllComeAgainChangeNothing) {
  start("key");
  const auto first = sent().at(0);
  answer(first);
  work();
  const auto second = sent().at(0);
  answer(second);
  work();
  const auto before = log_.states();
  answer(first);
  answer(second);
  work();
  EXPECT_EQ(log_.states(), before);
  EXPECT_TRUE(sent().empty());
}

// temporalio/sdk-java#1921
TEST_P(LaneFailures, TheOldestUnfinishedSagaShowsItsAgeWhateverItsStatus) {
  start("key");
  const auto saga = sagas().at(0);
  auto& lane = process_->lane_of(saga.partition);
  const auto ask = [&](saga::Operation operation) {
    saga::Request request = saga::ActionInput{.saga_id = saga.id,
                                              .action = {.operation = operation, .actor = "ann", .reason = "test"},
                                              .partition = saga.partition,
                                              .callback = [](const Result<saga::SagaPointer>&) {}};
    ASSERT_TRUE(lane.mailbox().put(request));
    work();
  };
  const auto created = saga.created_at.time_since_epoch().count();
  EXPECT_EQ(lane.stats().oldest_ms, created);
  now_ += 10s;
  ask(saga::Operation::kPause);
  EXPECT_EQ(lane.stats().paused, 1U);
  EXPECT_EQ(lane.stats().oldest_ms, created);
  ask(saga::Operation::kAbandon);
  EXPECT_EQ(lane.stats().oldest_ms, 0);
}

INSTANTIATE_TEST_SUITE_P(Carriers, LaneFailures, ::testing::Bool(), [](const auto& carrier) { return carrier.param ? "Broker" : "InProcess"; });

}  // namespace
}  // namespace outrigger::testing
