#include <algorithm>
#include <format>

#include "service/saga/internal/deciding.h"
#include "service/saga/internal/payload.h"

namespace outrigger::saga {

using participant::Direction;
using participant::Outcome;
using participant::Reply;
using std::chrono::milliseconds;

void Deciding::compensate(std::string reason) {
  saga().status = SagaStatus::kCompensating;
  note(history::kCompensating, {}, std::move(reason));
  for (auto& state : saga().steps) {
    if (state.status == StepStatus::kDispatched || state.status == StepStatus::kUnknown) {
      if (state.status == StepStatus::kDispatched) {
        note(history::kUnknown, state.name, "still in flight; will be undone");
      }
      state.status = StepStatus::kUnknown;
      state.next_at.reset();
      state.ended_at = now_;
      if (state.completion_sequence == 0) {
        state.completion_sequence = ++saga().completions;
      }
    } else if (state.status == StepStatus::kPending) {
      state.status = StepStatus::kSkipped;
    }
  }
  undo_next();
}

/// The last effect first, by completion sequence: clocks may step back, the sequence does not.
void Deciding::undo_next() {
  while (true) {
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < saga().steps.size(); ++i) {
      const auto status = step(i).status;
      if (status == StepStatus::kCompensating) {
        return;
      }
      if ((status == StepStatus::kSucceeded || status == StepStatus::kUnknown) &&
          (!last || step(i).completion_sequence > step(*last).completion_sequence)) {
        last = i;
      }
    }
    if (!last) {
      saga().status = SagaStatus::kCompensated;
      note(history::kCompensated, {}, {});
      return;
    }
    if (definition_.steps[*last].compensate) {
      dispatch_undo(*last);
      return;
    }
    step(*last).status = StepStatus::kSkipped;
    note(history::kSkipped, step(*last).name, "it has no compensation");
  }
}

void Deciding::dispatch_undo(std::size_t index) {
  auto& state = step(index);
  state.status = StepStatus::kCompensating;
  state.undo_waits = false;
  ++state.undo_attempt;
  state.next_at = now_ + definition_.steps[index].compensate->timeout;
  note(history::kUndoDispatched, state.name, std::format("attempt {}", state.undo_attempt));
  decision_.commands.push_back(make_command(definition_, saga(), index, Direction::kUndo));
}

void Deciding::on_undo_reply(std::size_t index, const Reply& reply) {
  auto& state = step(index);
  const bool is_undoing = saga().status == SagaStatus::kCompensating || saga().status == SagaStatus::kStuck;
  if (!is_undoing || state.status != StepStatus::kCompensating) {
    return;
  }
  const bool answers_this_attempt = !state.undo_waits && reply.attempt == state.undo_attempt;
  switch (reply.outcome) {
    case Outcome::kSuccess: settle_undo(index, StepStatus::kCompensated, {}); return;
    case Outcome::kFailed:
    case Outcome::kRefused:
      if (answers_this_attempt) {
        state.error = cut(reply.reason);
        note(history::kUndoFailed, state.name, state.error);
        get_stuck(index, "the participant cannot undo it");
      }
      return;
    case Outcome::kRetry:
      if (answers_this_attempt) {
        state.error = cut(reply.reason);
        note(history::kUndoRetryLater, state.name, state.error);
        undo_later(index, reply.retry_after.value_or(milliseconds(0)));
      }
      return;
    case Outcome::kInProgress:
      if (answers_this_attempt) {
        state.next_at = now_ + definition_.steps[index].compensate->timeout;
        note(history::kInProgress, state.name, {});
      }
      return;
  }
}

void Deciding::settle_undo(std::size_t index, StepStatus status, std::string detail) {
  auto& state = step(index);
  state.status = status;
  state.undo_waits = false;
  state.next_at.reset();
  note(status == StepStatus::kSkipped ? history::kSkipped : history::kUndone, state.name, std::move(detail));
  saga().status = SagaStatus::kCompensating;
  undo_next();
}

void Deciding::undo_later(std::size_t index, milliseconds at_least) {
  auto& state = step(index);
  const auto& policy = definition_.steps[index].compensate->retry;
  // Attempts are never counted back, so after an operator's retry the next multiple is the limit.
  if (state.undo_attempt % policy.attempts == 0) {
    get_stuck(index, std::format("no definite answer to {} attempt(s)", state.undo_attempt));
    return;
  }
  state.undo_waits = true;
  state.next_at = now_ + std::max(backoff(policy, saga().id, state.name, state.undo_attempt), std::clamp(at_least, milliseconds(0), kMaxRetryAfter));
}

void Deciding::get_stuck(std::size_t index, std::string why) {
  auto& state = step(index);
  state.undo_waits = true;
  state.next_at.reset();
  saga().status = SagaStatus::kStuck;
  note(history::kStuck, state.name, std::move(why) + "; an operator must retry, skip, complete or abandon");
}

}  // namespace outrigger::saga
