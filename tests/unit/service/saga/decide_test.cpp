#include "service/saga/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/saga_definitions.h"

namespace outrigger::saga {
namespace {

using namespace std::chrono_literals;
using outrigger::testing::make_sequence;
using participant::Command;
using participant::Direction;
using participant::Outcome;
using participant::Reply;
using ::testing::HasSubstr;

/// One saga driven by hand, with its own clock.
class DecideTest : public ::testing::Test {
 protected:
  void start(const outrigger::testing::DefinitionShape& shape = {}) {
    definition_ = make_sequence(shape);
    take(begin(definition_,
               {.id = "p1-01HZX3V6Q8M2T4R9K5W7Y1B3DC",
                .partition = 1,
                .idempotency_key = "k",
                .business_key = "b",
                .input = R"({"n":1})",
                .traceparent = "t"},
               now_));
  }
  void take(Decision decision) {
    state_ = std::move(decision.state);
    sent_ = std::move(decision.commands);
    changed_ = decision.changed;
  }
  void on(const Event& event) { take(decide(definition_, state_, event, now_).value()); }
  void reply(const Command& command, Outcome outcome, std::string output = "{}") {
    on(participant::reply_to(command, outcome, std::move(output), "because"));
  }
  Command sent() {
    EXPECT_EQ(sent_.size(), 1U);
    return sent_.empty() ? Command{} : sent_[0];
  }
  void succeed(std::string output = "{}") { reply(sent(), Outcome::kSuccess, std::move(output)); }
  /// Lets time pass to the next timer and fires it.
  void time_out() {
    ASSERT_TRUE(next_due(state_).has_value());
    now_ = *next_due(state_);
    on(TimerFired{});
  }
  /// Steps 1 and 2 succeed, step 3 fails, and the undo of step 2 gets no answer until it is stuck.
  void get_stuck() {
    start({.undo_attempts = 1});
    succeed();
    succeed();
    reply(sent(), Outcome::kFailed);
    time_out();
    ASSERT_EQ(state_.status, SagaStatus::kStuck);
  }
  const StepState& step(std::size_t number) { return state_.steps[number - 1]; }

  Definition definition_;
  SagaState state_;
  std::vector<Command> sent_;
  bool changed_ = true;
  WallTime now_{1'700'000'000'000ms};
};

TEST_F(DecideTest, SendsOneStepAfterTheOther) {
  start();
  EXPECT_EQ(sent().type, "Do1");
  EXPECT_EQ(sent().destination, "cmd.1");
  succeed();
  EXPECT_EQ(sent().type, "Do2");
  succeed();
  EXPECT_EQ(sent().type, "Do3");
  succeed();
  EXPECT_EQ(state_.status, SagaStatus::kCompleted);
  EXPECT_TRUE(sent_.empty());
  EXPECT_FALSE(next_due(state_).has_value());
}

TEST_F(DecideTest, PayloadCarriesInputAndEarlierOutputs) {
  start();
  succeed(R"({"a":1})");
  succeed();
  EXPECT_EQ(nlohmann::json::parse(sent().payload), nlohmann::json::parse(R"({"input":{"n":1},"outputs":{"step-1":{"a":1},"step-2":{}}})"));
  reply(sent(), Outcome::kFailed);
  succeed();
  EXPECT_EQ(nlohmann::json::parse(sent().payload), nlohmann::json::parse(R"({"input":{"n":1},"outputs":{},"output":{"a":1}})"));
}

TEST_F(DecideTest, OutputThatIsNoJsonBecomesAString) {
  start();
  succeed("not \"json\"");
  EXPECT_EQ(nlohmann::json::parse(sent().payload)["outputs"]["step-1"], "not \"json\"");
  succeed(std::string(100'000, '['));
  EXPECT_TRUE(nlohmann::json::parse(sent().payload)["outputs"]["step-2"].is_string());
}

TEST_F(DecideTest, SilenceIsTriedAgainUnderTheSameKeyWithGrowingPauses) {
  start({.attempts = 4});
  const auto first = sent();
  std::vector<WallTime::duration> pauses;
  for (std::uint32_t attempt = 2; attempt <= 4; ++attempt) {
    time_out();
    EXPECT_EQ(step(1).status, StepStatus::kUnknown);
    EXPECT_TRUE(sent_.empty());
    pauses.push_back(*next_due(state_) - now_);
    time_out();
    EXPECT_EQ(sent().attempt, attempt);
    EXPECT_EQ(sent().idempotency_key(), first.idempotency_key());
    EXPECT_EQ(sent().payload, first.payload);
  }
  EXPECT_LT(pauses[0], pauses[1]);
  EXPECT_LT(pauses[1], pauses[2]);
}

TEST_F(DecideTest, ExhaustedRetriesUndoTheUnknownStepToo) {
  start({.attempts = 2});
  succeed();
  time_out();
  time_out();
  time_out();
  EXPECT_EQ(state_.status, SagaStatus::kCompensating);
  EXPECT_EQ(sent().type, "Undo2");
  succeed();
  EXPECT_EQ(sent().type, "Undo1");
  succeed();
  EXPECT_EQ(state_.status, SagaStatus::kCompensated);
  EXPECT_EQ(step(3).status, StepStatus::kSkipped);
}

TEST_F(DecideTest, DefiniteFailureUndoesOnlyWhatWasDone) {
  start();
  succeed();
  succeed();
  reply(sent(), Outcome::kFailed);
  EXPECT_EQ(step(3).status, StepStatus::kFailed);
  EXPECT_EQ(step(3).error, "because");
  EXPECT_EQ(sent().type, "Undo2");
}

TEST_F(DecideTest, DeadlineUndoesWhatIsInFlight) {
  start({.timeout = 3'600s, .deadline = 10s});
  succeed();
  now_ = state_.deadline;
  on(TimerFired{});
  EXPECT_EQ(state_.status, SagaStatus::kCompensating);
  EXPECT_EQ(sent().type, "Undo2");
}

TEST_F(DecideTest, NoStepBeginsAfterTheDeadline) {
  start({.deadline = 10s});
  now_ = state_.deadline + 1s;
  succeed();
  EXPECT_EQ(sent().type, "Undo1");
}

TEST_F(DecideTest, EarlyTimersChangeNothing) {
  start();
  now_ += 1ms;
  on(TimerFired{});
  EXPECT_FALSE(changed_);
}

TEST_F(DecideTest, RetryWaitsAsLongAsTheParticipantAsks) {
  start();
  auto answer = participant::reply_to(sent(), Outcome::kRetry);
  answer.retry_after = 30s;
  on(answer);
  EXPECT_EQ(*next_due(state_), now_ + 30s);
  EXPECT_TRUE(sent_.empty());
  time_out();
  EXPECT_EQ(sent().attempt, 2U);
}

TEST_F(DecideTest, RetryOfAnOlderAttemptIsAbsorbed) {
  start();
  const auto first = sent();
  time_out();
  time_out();
  ASSERT_EQ(sent().attempt, 2U);
  reply(first, Outcome::kRetry);
  EXPECT_FALSE(changed_);
}

TEST_F(DecideTest, AbsurdRetryAfterIsBounded) {
  start({.deadline = 700h});
  auto answer = participant::reply_to(sent(), Outcome::kRetry);
  answer.retry_after = std::chrono::milliseconds::max();
  on(answer);
  EXPECT_LE(*next_due(state_), now_ + 1h);
}

TEST_F(DecideTest, InProgressGivesTheStepMoreTime) {
  start({.timeout = 1s});
  now_ += 900ms;
  reply(sent(), Outcome::kInProgress);
  EXPECT_EQ(*next_due(state_), now_ + 1s);
  EXPECT_EQ(step(1).attempt, 1U);
}

TEST_F(DecideTest, AnAnswerToAnEarlierAttemptSettlesTheStep) {
  start();
  const auto first = sent();
  time_out();
  reply(first, Outcome::kSuccess);
  EXPECT_EQ(step(1).status, StepStatus::kSucceeded);
  EXPECT_EQ(sent().type, "Do2");
}

TEST_F(DecideTest, DuplicateAnswersAreAbsorbed) {
  start();
  const auto first = sent();
  succeed();
  const auto before = state_;
  reply(first, Outcome::kSuccess);
  EXPECT_FALSE(changed_);
  EXPECT_EQ(state_, before);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(DecideTest, LateSuccessDuringTheUndoChangesNothing) {
  start({.attempts = 1});
  const auto command = sent();
  time_out();
  const auto undo = sent();
  ASSERT_EQ(undo.type, "Undo1");
  reply(command, Outcome::kSuccess);
  EXPECT_FALSE(changed_);
  reply(undo, Outcome::kSuccess);
  EXPECT_EQ(state_.status, SagaStatus::kCompensated);
  reply(command, Outcome::kRefused);
  EXPECT_FALSE(changed_);
}

TEST_F(DecideTest, StepsWithoutCompensationAreSkippedOnTheWayBack) {
  definition_ = make_sequence();
  definition_.steps[1].compensate.reset();
  take(begin(definition_,
             {.id = "p1-01HZX3V6Q8M2T4R9K5W7Y1B3DC", .partition = 1, .idempotency_key = {}, .business_key = {}, .input = "{}", .traceparent = {}},
             now_));
  succeed();
  succeed();
  reply(sent(), Outcome::kFailed);
  EXPECT_EQ(sent().type, "Undo1");
  EXPECT_EQ(step(2).status, StepStatus::kSkipped);
}

TEST_F(DecideTest, UndoIsTriedAgainThenStuck) {
  start({.undo_attempts = 2});
  succeed();
  reply(sent(), Outcome::kFailed);
  time_out();
  EXPECT_EQ(state_.status, SagaStatus::kCompensating);
  time_out();
  EXPECT_EQ(sent().attempt, 2U);
  time_out();
  EXPECT_EQ(state_.status, SagaStatus::kStuck);
  EXPECT_FALSE(next_due(state_).has_value());
}

TEST_F(DecideTest, LateUndoAnswerFreesAStuckSaga) {
  start({.undo_attempts = 1});
  succeed();
  reply(sent(), Outcome::kFailed);
  const auto undo = sent();
  time_out();
  ASSERT_EQ(state_.status, SagaStatus::kStuck);
  reply(undo, Outcome::kSuccess);
  EXPECT_EQ(state_.status, SagaStatus::kCompensated);
}

TEST_F(DecideTest, OperatorRetriesAStuckUndo) {
  get_stuck();
  on(OperatorAction{.operation = Operation::kRetry, .actor = "ann", .reason = "mended"});
  EXPECT_EQ(state_.status, SagaStatus::kCompensating);
  EXPECT_EQ(sent().type, "Undo2");
  succeed();
  succeed();
  EXPECT_EQ(state_.status, SagaStatus::kCompensated);
}

TEST_F(DecideTest, OperatorSkipsAStuckUndo) {
  get_stuck();
  on(OperatorAction{.operation = Operation::kSkip, .actor = "ann", .reason = "does not matter"});
  EXPECT_EQ(step(2).status, StepStatus::kSkipped);
  EXPECT_EQ(sent().type, "Undo1");
}

TEST_F(DecideTest, OperatorCompletesAStuckUndoByHand) {
  get_stuck();
  on(OperatorAction{.operation = Operation::kComplete, .actor = "ann", .reason = "called them"});
  EXPECT_EQ(step(2).status, StepStatus::kCompensated);
  EXPECT_EQ(sent().type, "Undo1");
}

TEST_F(DecideTest, OperatorAbandonsFromEveryUnfinishedStatus) {
  const OperatorAction abandon{.operation = Operation::kAbandon, .actor = "ann", .reason = "gone"};
  start();
  on(abandon);
  EXPECT_EQ(state_.status, SagaStatus::kAbandoned);
  get_stuck();
  on(abandon);
  EXPECT_EQ(state_.status, SagaStatus::kAbandoned);
  EXPECT_TRUE(commands_in_flight(definition_, state_).empty());
  EXPECT_FALSE(decide(definition_, state_, abandon, now_).has_value());
}

TEST_F(DecideTest, OperatorCompensatesARunningSaga) {
  start();
  succeed();
  on(OperatorAction{.operation = Operation::kCompensate, .actor = "ann", .reason = "customer called"});
  EXPECT_EQ(sent().type, "Undo2");
}

TEST_F(DecideTest, OperatorCannotSkipWhatIsNotStuck) {
  start();
  const auto refused = decide(definition_, state_, OperatorAction{.operation = Operation::kSkip, .actor = {}, .reason = {}}, now_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("RUNNING"));
}

TEST_F(DecideTest, CommandsInFlightAreTheCommandsThatWereSent) {
  start();
  const auto same = [](const Command& left, const Command& right) {
    return left.idempotency_key() == right.idempotency_key() && left.attempt == right.attempt && left.payload == right.payload &&
           left.deadline == right.deadline && left.type == right.type && left.destination == right.destination;
  };
  ASSERT_EQ(commands_in_flight(definition_, state_).size(), 1U);
  EXPECT_TRUE(same(commands_in_flight(definition_, state_)[0], sent()));
  succeed();
  reply(sent(), Outcome::kFailed);
  ASSERT_EQ(commands_in_flight(definition_, state_).size(), 1U);
  EXPECT_TRUE(same(commands_in_flight(definition_, state_)[0], sent()));
}

TEST_F(DecideTest, HistoryKeepsTheLastFifty) {
  start({.deadline = 700h});
  for (int i = 0; i < 60; ++i) {
    reply(sent_.empty() ? commands_in_flight(definition_, state_)[0] : sent_[0], Outcome::kInProgress);
  }
  EXPECT_EQ(state_.history.size(), SagaState::kHistoryLimit);
  EXPECT_EQ(state_.history.back().sequence, 62U);
  EXPECT_EQ(state_.history.front().sequence, 13U);
}

TEST_F(DecideTest, RepliesOfUnknownStepsAreAbsorbed) {
  start();
  auto answer = participant::reply_to(sent(), Outcome::kSuccess);
  answer.step = "no such step";
  on(answer);
  EXPECT_FALSE(changed_);
}

}  // namespace
}  // namespace outrigger::saga
