#include <format>

#include "service/saga/internal/deciding.h"

namespace outrigger::saga {

Result<void> Deciding::on(const OperatorAction& action) {
  if (saga().is_finished()) {
    return refuse(action, "the saga has ended");
  }
  const auto stuck = stuck_step();
  switch (action.operation) {
    case Operation::kRetry: return retry(action, stuck);
    case Operation::kSkip:
    case Operation::kComplete:
      if (!stuck) {
        return refuse(action, "no undo is stuck");
      }
      audit(action, definition_.steps[*stuck].name);
      settle_undo(*stuck, action.operation == Operation::kSkip ? StepStatus::kSkipped : StepStatus::kCompensated, "by an operator");
      return {};
    case Operation::kCompensate:
      if (saga().status != SagaStatus::kRunning) {
        return refuse(action, "it is not running");
      }
      audit(action, {});
      compensate("asked by an operator");
      return {};
    case Operation::kAbandon:
      audit(action, {});
      for (auto& each : saga().steps) {
        each.next_at.reset();
      }
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

std::optional<std::size_t> Deciding::stuck_step() {
  for (std::size_t i = 0; i < saga().steps.size(); ++i) {
    if (saga().status == SagaStatus::kStuck && step(i).status == StepStatus::kCompensating && step(i).undo_waits && !step(i).next_at) {
      return i;
    }
  }
  return std::nullopt;
}

Result<void> Deciding::retry(const OperatorAction& action, std::optional<std::size_t> stuck) {
  bool audited = false;
  for (std::size_t i = 0; i < saga().steps.size(); ++i) {
    const bool waits_to_do = step(i).status == StepStatus::kUnknown && step(i).next_at && saga().status == SagaStatus::kRunning;
    const bool waits_to_undo = step(i).status == StepStatus::kCompensating && step(i).undo_waits;
    if (!waits_to_do && !waits_to_undo) {
      continue;
    }
    if (!audited) {
      audit(action, step(i).name);
      audited = true;
    }
    if (stuck) {
      saga().status = SagaStatus::kCompensating;
    }
    waits_to_do ? dispatch(i) : dispatch_undo(i);
  }
  if (!audited) {
    return refuse(action, "nothing waits to be sent again; its command is in flight");
  }
  return {};
}

}  // namespace outrigger::saga
