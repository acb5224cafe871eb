// Branches that run at the same time, the point of no return, and what users and operators may ask for.

#include <algorithm>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/saga/decide.h"
#include "tests/support/saga_definitions.h"

namespace outrigger::saga {
namespace {

using namespace std::chrono_literals;
using outrigger::testing::DefinitionShape;
using outrigger::testing::make_graph;
using participant::Command;
using participant::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kDiamond{"1:", "2: 1", "3: 1", "4: 2 3"};
const std::vector<std::string> kPivot{"1:", "2: 1 pivot final", "3: 2 final", "4: 2 final"};

class GraphTest : public ::testing::Test {
 protected:
  void start(const std::vector<std::string>& steps, const DefinitionShape& shape = {}) {
    definition_ = make_graph(steps, shape);
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
    state_ = decode(encode(decision.state)).value();  // as a restart finds it
    EXPECT_EQ(state_, decision.state);
    for (auto& command : decision.commands) {
      last_[command.type] = command;
      sent_.push_back(command.type);
    }
    changed_ = decision.changed;
  }
  void on(const Event& event) { take(decide(definition_, state_, event, now_).value()); }
  /// Answers the last command of a type.
  void answer(const std::string& type, Outcome outcome = Outcome::kSuccess) { on(participant::reply_to(last_.at(type), outcome, "{}", "because")); }
  void ask(Operation operation, std::string step = {}) { on(action(operation, std::move(step))); }
  std::string refusal(Operation operation, std::string step = {}) {
    const auto refused = decide(definition_, state_, action(operation, std::move(step)), now_);
    return refused ? "" : refused.error().message;
  }
  static OperatorAction action(Operation operation, std::string step) {
    return {.operation = operation, .actor = "ann", .reason = "asked by phone", .step = std::move(step)};
  }
  void time_out() {
    ASSERT_TRUE(next_due(state_).has_value());
    now_ = *next_due(state_);
    on(TimerFired{});
  }
  /// What was sent since the last call, in order.
  std::vector<std::string> sent() { return std::exchange(sent_, {}); }
  std::vector<std::string> in_flight() {
    std::vector<std::string> types;
    for (const auto& command : commands_in_flight(definition_, state_)) {
      types.push_back(command.type);
    }
    return types;
  }
  const StepState& step(std::size_t number) { return state_.steps[number - 1]; }

  Definition definition_;
  SagaState state_;
  std::vector<std::string> sent_;
  std::map<std::string, Command> last_;
  bool changed_ = true;
  WallTime now_{1'700'000'000'000ms};
};

TEST_F(GraphTest, BranchesRunAtTheSameTimeAndJoin) {
  start(kDiamond);
  EXPECT_THAT(sent(), ElementsAre("Do1"));
  answer("Do1");
  EXPECT_THAT(sent(), ElementsAre("Do2", "Do3"));
  answer("Do3");
  EXPECT_THAT(sent(), IsEmpty());
  answer("Do2");
  EXPECT_THAT(sent(), ElementsAre("Do4"));
  answer("Do4");
  EXPECT_EQ(state_.status, SagaStatus::kCompleted);
}

TEST_F(GraphTest, TheWayBackIsTheGraphReversedWithBranchesAtTheSameTime) {
  start(kDiamond);
  answer("Do1");
  answer("Do3");
  answer("Do2");
  sent();
  answer("Do4", Outcome::kFailed);
  EXPECT_THAT(sent(), ElementsAre("Undo2", "Undo3")) << "the last to complete first, by sequence";
  answer("Undo2");
  EXPECT_THAT(sent(), IsEmpty());
  answer("Undo3");
  EXPECT_THAT(sent(), ElementsAre("Undo1"));
  answer("Undo1");
  EXPECT_EQ(state_.status, SagaStatus::kCompensated);
}

TEST_F(GraphTest, ABranchInFlightIsUndoneWhenAnotherFails) {
  start(kDiamond);
  answer("Do1");
  sent();
  answer("Do2", Outcome::kFailed);
  EXPECT_EQ(step(3).status, StepStatus::kCompensating);
  EXPECT_THAT(sent(), ElementsAre("Undo3"));
  answer("Do3");
  EXPECT_FALSE(changed_) << "the undo covers it";
  answer("Undo3");
  EXPECT_THAT(sent(), ElementsAre("Undo1"));
}

TEST_F(GraphTest, EachBranchHasItsOwnTimersAndAttempts) {
  start(kDiamond, {.attempts = 3});
  answer("Do1");
  now_ += 500ms;
  answer("Do2", Outcome::kInProgress);  // its time begins anew
  sent();
  time_out();
  EXPECT_EQ(step(3).status, StepStatus::kUnknown);
  EXPECT_EQ(step(2).status, StepStatus::kDispatched);
  time_out();
  EXPECT_EQ(step(3).attempt, 2U);
  EXPECT_EQ(step(2).attempt, 1U);
  EXPECT_THAT(sent(), ElementsAre("Do3"));
}

TEST_F(GraphTest, TheDeadlineUndoesAllBranches) {
  start(kDiamond, {.timeout = 1h, .deadline = 10s});
  answer("Do1");
  answer("Do2");
  sent();
  time_out();
  EXPECT_EQ(now_, state_.deadline);
  EXPECT_THAT(sent(), ElementsAre("Undo3", "Undo2"));
}

TEST_F(GraphTest, OneStuckUndoDoesNotHoldTheOtherBranchUp) {
  start(kDiamond, {.undo_attempts = 1});
  answer("Do1");
  answer("Do2");
  answer("Do3");
  answer("Do4", Outcome::kFailed);
  answer("Undo2", Outcome::kFailed);
  EXPECT_EQ(state_.status, SagaStatus::kStuck);
  EXPECT_THAT(in_flight(), ElementsAre("Undo3"));
  EXPECT_TRUE(next_due(state_).has_value()) << "the other branch has its timer still";
  answer("Undo3");
  EXPECT_EQ(state_.status, SagaStatus::kStuck);
  sent();
  ask(Operation::kComplete);
  EXPECT_THAT(sent(), ElementsAre("Undo1"));
}

TEST_F(GraphTest, WithSeveralStuckStepsTheOperatorNamesOne) {
  start(kDiamond, {.undo_attempts = 1});
  answer("Do1");
  answer("Do2");
  answer("Do3");
  answer("Do4", Outcome::kFailed);
  answer("Undo2", Outcome::kFailed);
  answer("Undo3", Outcome::kFailed);
  EXPECT_THAT(refusal(Operation::kSkip), HasSubstr("several steps are stuck, name one of them: step-2, step-3"));
  EXPECT_THAT(refusal(Operation::kSkip, "step-4"), HasSubstr("'step-4' is not stuck"));
  EXPECT_THAT(refusal(Operation::kSkip, "step-9"), HasSubstr("no step 'step-9'"));
  ask(Operation::kSkip, "step-3");
  EXPECT_EQ(step(3).status, StepStatus::kSkipped);
  EXPECT_EQ(state_.status, SagaStatus::kStuck);
  sent();
  ask(Operation::kRetry, "step-2");
  EXPECT_EQ(state_.status, SagaStatus::kCompensating);
  EXPECT_THAT(sent(), ElementsAre("Undo2"));
}

TEST_F(GraphTest, PastThePivotSilenceIsRetriedWithoutEnd) {
  start(kPivot, {.attempts = 2, .deadline = 1h});
  answer("Do1");
  answer("Do2");
  answer("Do4");
  std::size_t events = 0;
  for (int i = 0; i < 100; ++i) {
    time_out();
    ASSERT_EQ(state_.status, SagaStatus::kRunning);
    events = std::max(events, state_.history.size());
  }
  EXPECT_GT(step(3).attempt, 40U);
  EXPECT_LE(events, SagaState::kHistoryLimit);
  answer("Do3");
  EXPECT_EQ(state_.status, SagaStatus::kCompleted);
}

TEST_F(GraphTest, PastThePivotTheDeadlineIsNotedOnceAndUndoesNothing) {
  start(kPivot, {.timeout = 1h, .deadline = 10s});
  answer("Do1");
  answer("Do2");
  sent();
  time_out();
  EXPECT_EQ(now_, state_.deadline);
  EXPECT_TRUE(state_.deadline_passed);
  EXPECT_EQ(state_.status, SagaStatus::kRunning);
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_GT(*next_due(state_), now_) << "or the timer would fire without end";
  answer("Do3");
  answer("Do4");
  EXPECT_EQ(state_.status, SagaStatus::kCompleted);
  EXPECT_EQ(std::ranges::count(state_.history, history::kDeadline, &HistoryEvent::event), 1);
}

TEST_F(GraphTest, AFailurePastThePivotWaitsForAnOperatorWhileTheOtherBranchGoesOn) {
  start(kPivot);
  answer("Do1");
  answer("Do2");
  answer("Do3", Outcome::kFailed);
  EXPECT_EQ(state_.status, SagaStatus::kStuck);
  EXPECT_THAT(in_flight(), ElementsAre("Do4"));
  answer("Do4");
  EXPECT_EQ(state_.status, SagaStatus::kStuck);
  EXPECT_THAT(refusal(Operation::kSkip), HasSubstr("past the pivot every step must be done"));
  EXPECT_THAT(refusal(Operation::kCancel), HasSubstr("only goes forward"));
  sent();
  ask(Operation::kRetry);
  EXPECT_EQ(state_.status, SagaStatus::kRunning);
  EXPECT_THAT(sent(), ElementsAre("Do3"));
  answer("Do3", Outcome::kFailed);
  ask(Operation::kComplete);
  EXPECT_EQ(state_.status, SagaStatus::kCompleted);
}

TEST_F(GraphTest, AFailingPivotUndoesWhatCameBefore) {
  start(kPivot);
  answer("Do1");
  sent();
  answer("Do2", Outcome::kFailed);
  EXPECT_THAT(sent(), ElementsAre("Undo1"));
}

TEST_F(GraphTest, APivotWithoutCompensationIsAskedUntilItAnswers) {
  start(kPivot, {.attempts = 2, .deadline = 20s});
  answer("Do1");
  while (now_ < state_.deadline + 1min) {
    time_out();
    ASSERT_EQ(state_.status, SagaStatus::kRunning);
  }
  EXPECT_THAT(refusal(Operation::kCancel), HasSubstr("under way and cannot be undone"));
  sent();
  answer("Do2", Outcome::kFailed);
  EXPECT_EQ(state_.status, SagaStatus::kCompensating);
  EXPECT_THAT(sent(), ElementsAre("Undo1"));
}

TEST_F(GraphTest, APivotWithCompensationIsUndoneWhenItsOutcomeStaysUnknown) {
  start({"1:", "2: 1 pivot", "3: 2 final"}, {.attempts = 1});
  answer("Do1");
  sent();
  time_out();
  EXPECT_THAT(sent(), ElementsAre("Undo2"));
  answer("Undo2");
  EXPECT_THAT(sent(), ElementsAre("Undo1"));
}

TEST_F(GraphTest, CancelUndoesAndIsAuditedAndARepeatIsNoError) {
  start(kDiamond);
  answer("Do1");
  sent();
  ask(Operation::kCancel);
  EXPECT_THAT(sent(), ElementsAre("Undo3", "Undo2"));
  EXPECT_TRUE(std::ranges::any_of(state_.history, [](const HistoryEvent& event) {
    return event.event == history::kOperator && event.detail == "cancel by ann: asked by phone";
  }));
  ask(Operation::kCancel);
  EXPECT_FALSE(changed_);
  answer("Undo2");
  answer("Undo3");
  answer("Undo1");
  ASSERT_EQ(state_.status, SagaStatus::kCompensated);
  ask(Operation::kCancel);
  EXPECT_FALSE(changed_);
}

TEST_F(GraphTest, ACompletedSagaCannotBeCancelled) {
  start({"1:"});
  answer("Do1");
  EXPECT_THAT(refusal(Operation::kCancel), HasSubstr("has ended"));
}

TEST_F(GraphTest, APausedSagaSendsNothingButTakesAnswersIn) {
  start(kDiamond);
  answer("Do1");
  ask(Operation::kPause);
  EXPECT_EQ(state_.status, SagaStatus::kPaused);
  EXPECT_THAT(in_flight(), IsEmpty());
  EXPECT_FALSE(next_due(state_).has_value());
  sent();
  now_ += 10s;
  on(TimerFired{});
  EXPECT_FALSE(changed_);
  answer("Do2");
  answer("Do3");
  EXPECT_EQ(step(3).status, StepStatus::kSucceeded);
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(refusal(Operation::kRetry), HasSubstr("resume it first"));
  ask(Operation::kResume);
  EXPECT_EQ(state_.status, SagaStatus::kRunning);
  EXPECT_THAT(sent(), ElementsAre("Do4"));
  EXPECT_THAT(refusal(Operation::kResume), HasSubstr("not paused"));
}

TEST_F(GraphTest, WhatFailedDuringThePauseIsUndoneAfterIt) {
  start(kDiamond);
  answer("Do1");
  ask(Operation::kPause);
  answer("Do2", Outcome::kFailed);
  EXPECT_EQ(state_.status, SagaStatus::kPaused);
  sent();
  ask(Operation::kResume);
  EXPECT_THAT(sent(), ElementsAre("Undo3"));
}

TEST_F(GraphTest, TheDeadlineThatPassedDuringThePauseCountsAfterIt) {
  start(kDiamond, {.deadline = 10s});
  answer("Do1");
  answer("Do2");
  ask(Operation::kPause);
  now_ = state_.deadline + 1s;
  sent();
  ask(Operation::kResume);
  EXPECT_THAT(sent(), ElementsAre("Undo3", "Undo2"));
}

TEST_F(GraphTest, ASilentStepIsSentAgainAfterThePause) {
  start({"1:"});
  ask(Operation::kPause);
  now_ += 5s;
  ask(Operation::kResume);
  EXPECT_EQ(step(1).status, StepStatus::kUnknown);
  sent();
  time_out();
  EXPECT_THAT(sent(), ElementsAre("Do1"));
}

TEST_F(GraphTest, AnUndoCanBePausedAndGoesOnWhereItWas) {
  start(kDiamond);
  answer("Do1");
  answer("Do2", Outcome::kFailed);
  ask(Operation::kPause);
  answer("Undo3");
  EXPECT_EQ(state_.status, SagaStatus::kPaused);
  sent();
  ask(Operation::kResume);
  EXPECT_EQ(state_.status, SagaStatus::kCompensating);
  EXPECT_THAT(sent(), ElementsAre("Undo1"));
}

TEST_F(GraphTest, CancelEndsAPause) {
  start({"1:", "2: 1"});
  answer("Do1");
  ask(Operation::kPause);
  sent();
  ask(Operation::kCancel);
  EXPECT_EQ(state_.status, SagaStatus::kCompensating);
  EXPECT_THAT(sent(), ElementsAre("Undo2"));
}

TEST_F(GraphTest, APausedSagaCanBeAbandoned) {
  start(kDiamond);
  ask(Operation::kPause);
  ask(Operation::kAbandon);
  EXPECT_EQ(state_.status, SagaStatus::kAbandoned);
}

// danielgerlag/workflow-core#191
TEST_F(GraphTest, AClockThatStepsBackDoesNotChangeTheOrderOfTheWayBack) {
  start({"1:", "2:", "3:", "4: 1 2 3"});
  answer("Do2");
  now_ -= 1h;
  answer("Do3");
  now_ -= 1h;
  answer("Do1");
  sent();
  answer("Do4", Outcome::kFailed);
  EXPECT_THAT(sent(), ElementsAre("Undo1", "Undo3", "Undo2"));
}

// dapr/dapr#6454
TEST_F(GraphTest, ASuccessThatComesAfterTheCancelIsUndone) {
  start({"1:", "2: 1"});
  sent();
  ask(Operation::kCancel);
  answer("Do1");
  EXPECT_FALSE(changed_);
  EXPECT_THAT(in_flight(), ElementsAre("Undo1"));
}

// dapr/dapr#8590
TEST_F(GraphTest, EveryStatusThatIsNotAnEndHasAnOperatorsExit) {
  const auto can_be_abandoned = [&] { return decide(definition_, state_, action(Operation::kAbandon, {}), now_).has_value(); };
  start(kDiamond, {.undo_attempts = 1});
  EXPECT_TRUE(can_be_abandoned()) << "RUNNING";
  ask(Operation::kPause);
  EXPECT_TRUE(can_be_abandoned()) << "PAUSED";
  ask(Operation::kCancel);
  ASSERT_EQ(state_.status, SagaStatus::kCompensating);
  EXPECT_TRUE(can_be_abandoned()) << "COMPENSATING";
  answer("Undo1", Outcome::kFailed);
  ASSERT_EQ(state_.status, SagaStatus::kStuck);
  EXPECT_TRUE(can_be_abandoned()) << "STUCK";
}

}  // namespace
}  // namespace outrigger::saga
