#include <format>
#include <utility>

#include "service/saga/internal/deciding.h"

namespace outrigger::saga {

Result<void> Deciding::on(const OperatorAction& action) {
  const auto operation = action.operation;
  if (saga().is_finished()) {
    const bool is_repeat = operation == Operation::kCancel && saga().status == SagaStatus::kCompensated;
    return is_repeat ? Result<void>() : refuse(action, "the saga has ended");
  }
  if (!action.step.empty() && !definition_.index_of(action.step)) {
    return refuse(action, std::format("it has no step '{}'", action.step));
  }
  switch (operation) {
    case Operation::kRetry: return retry(action);
    case Operation::kSkip:
    case Operation::kComplete: return settle_by_hand(action);
    case Operation::kCompensate:
    case Operation::kCancel: return turn_back(action);
    case Operation::kPause: return pause(action);
    case Operation::kResume:
      if (saga().status != SagaStatus::kPaused) {
        return refuse(action, "it is not paused");
      }
      audit(action, {});
      saga().status = std::exchange(saga().paused_status, SagaStatus::kRunning);
      on(TimerFired{});
      return {};
    case Operation::kAbandon:
      audit(action, {});
      for (auto& each : saga().steps) {
        each.next_at.reset();
      }
      saga().paused_status = SagaStatus::kRunning;
      saga().status = SagaStatus::kAbandoned;
      note(history::kAbandoned, {}, "effects that were not undone remain");
      return {};
  }
  impossible("saga::Operation");
}

void Deciding::audit(const OperatorAction& action, std::string_view step_name) {
  note(history::kOperator, step_name,
       cut(std::format("{} by {}: {}", name(action.operation), action.actor.empty() ? "unknown" : action.actor,
                       action.reason.empty() ? "no reason given" : action.reason)));
}

std::unexpected<Error> Deciding::refuse(const OperatorAction& action, std::string_view why) {
  return fail(ErrorCode::kFailedPrecondition,
              std::format("cannot {} saga {} in status {}: {}", name(action.operation), saga().id, name(saga().status), why));
}

/// An undo that used up its sends, or a step that failed where there is no way back.
bool Deciding::is_stuck(std::size_t index) {
  const auto& state = step(index);
  return goes_forward() ? state.status == StepStatus::kFailed && !can_go_back()
                        : state.status == StepStatus::kCompensating && state.undo_waits && !state.next_at;
}

Result<std::size_t> Deciding::stuck_step(const OperatorAction& action) {
  std::optional<std::size_t> found;
  std::string names;
  for (std::size_t i = 0; i < saga().steps.size(); ++i) {
    if (!is_stuck(i) || (!action.step.empty() && action.step != step(i).name)) {
      continue;
    }
    names += (found ? ", " : "") + step(i).name;
    found = found ? saga().steps.size() : i;
  }
  if (!found) {
    return refuse(action, action.step.empty() ? std::string("no step is stuck") : std::format("step '{}' is not stuck", action.step));
  }
  if (*found == saga().steps.size()) {
    return refuse(action, std::format("several steps are stuck, name one of them: {}", names));
  }
  return *found;
}

Result<void> Deciding::settle_by_hand(const OperatorAction& action) {
  if (saga().status == SagaStatus::kPaused) {
    return refuse(action, "resume it first");
  }
  const auto index = stuck_step(action);
  if (!index) {
    return std::unexpected(index.error());
  }
  const bool is_skip = action.operation == Operation::kSkip;
  if (goes_forward() && is_skip) {
    return refuse(action, "past the pivot every step must be done: retry it, complete it when it was done by hand, or abandon the saga");
  }
  audit(action, step(*index).name);
  if (goes_forward()) {
    succeed(*index, {}, "by an operator");
  } else {
    settle_undo(*index, is_skip ? StepStatus::kSkipped : StepStatus::kCompensated, "by an operator");
  }
  proceed();
  return {};
}

/// Ends a pause: who asks for the way back wants it gone.
Result<void> Deciding::turn_back(const OperatorAction& action) {
  if (!goes_forward()) {
    return action.operation == Operation::kCancel ? Result<void>() : refuse(action, "it is not running");
  }
  if (!can_go_back()) {
    const auto& pivot = step(*definition_.pivot());
    return refuse(action, pivot.status == StepStatus::kSucceeded
                              ? std::format("its pivot '{}' has succeeded, from there it only goes forward", pivot.name)
                              : std::format("its pivot '{}' is under way and cannot be undone: wait for the answer", pivot.name));
  }
  audit(action, {});
  saga().paused_status = SagaStatus::kRunning;
  compensate(action.operation == Operation::kCancel ? "cancelled" : "asked by an operator");
  return {};
}

Result<void> Deciding::pause(const OperatorAction& action) {
  if (saga().status != SagaStatus::kPaused) {
    audit(action, {});
    saga().paused_status = saga().status;
    saga().status = SagaStatus::kPaused;
  }
  return {};
}

Result<void> Deciding::retry(const OperatorAction& action) {
  if (saga().status == SagaStatus::kPaused) {
    return refuse(action, "resume it first");
  }
  const bool is_forward = goes_forward();
  bool audited = false;
  for (std::size_t i = 0; i < saga().steps.size(); ++i) {
    const bool waits_to_do = is_forward && ((step(i).status == StepStatus::kUnknown && step(i).next_at) || is_stuck(i));
    const bool waits_to_undo = !is_forward && step(i).status == StepStatus::kCompensating && step(i).undo_waits;
    if ((!waits_to_do && !waits_to_undo) || (!action.step.empty() && action.step != step(i).name)) {
      continue;
    }
    if (!audited) {
      audit(action, step(i).name);
      audited = true;
    }
    waits_to_do ? dispatch(i) : dispatch_undo(i);
  }
  if (!audited) {
    return refuse(action, "nothing waits to be sent again; its command is in flight");
  }
  proceed();
  return {};
}

}  // namespace outrigger::saga
