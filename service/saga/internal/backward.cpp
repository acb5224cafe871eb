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
  decision_.commands.clear();  // no do begins any more
  for (auto& state : saga().steps) {
    if (state.status == StepStatus::kDispatched || state.status == StepStatus::kUnknown) {
      if (state.status == StepStatus::kDispatched || state.next_at) {
        note(history::kUnknown, state.name, "still in flight; will be undone");
      }
      state.status = StepStatus::kUnknown;
      state.next_at.reset();
      state.ended_at = now_;
      state.completion_sequence = ++saga().completions;
    } else if (state.status == StepStatus::kPending) {
      state.status = StepStatus::kSkipped;
    }
  }
  go_back();
}

/// The graph backwards: a step's turn comes when nothing that came after it has an effect left. Of those whose turn it is, the last
/// one to complete is first, by sequence: clocks may step back, the sequence does not.
void Deciding::go_back() {
  std::vector<std::size_t> ready;
  for (std::size_t i = saga().steps.size(); i-- > 0;) {
    if (!may_be_undone(i)) {
      continue;
    }
    if (definition_.steps[i].compensate) {
      ready.push_back(i);
    } else {
      step(i).status = StepStatus::kSkipped;
      note(history::kSkipped, step(i).name, "it has no compensation");
    }
  }
  std::ranges::sort(ready, std::ranges::greater{}, [&](std::size_t index) { return step(index).completion_sequence; });
  std::ranges::for_each(ready, [&](std::size_t index) { dispatch_undo(index); });
  saga().status = SagaStatus::kCompensated;
  for (std::size_t i = 0; i < saga().steps.size(); ++i) {
    if (step(i).status == StepStatus::kCompensating && saga().status != SagaStatus::kStuck) {
      saga().status = is_stuck(i) ? SagaStatus::kStuck : SagaStatus::kCompensating;
    }
  }
  if (saga().status == SagaStatus::kCompensated) {
    note(history::kCompensated, {}, {});
  }
}

bool Deciding::may_be_undone(std::size_t index) {
  const auto has_effect = [&](std::size_t i) { return step(i).status == StepStatus::kSucceeded || step(i).status == StepStatus::kUnknown; };
  if (!has_effect(index)) {
    return false;
  }
  for (std::size_t i = index + 1; i < saga().steps.size(); ++i) {
    const auto& after = definition_.steps[i].after;
    if ((has_effect(i) || step(i).status == StepStatus::kCompensating) && std::ranges::find(after, step(index).name) != after.end()) {
      return false;
    }
  }
  return true;
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
  if (state.status != StepStatus::kCompensating) {
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
  note(history::kStuck, state.name, std::move(why) + "; an operator must retry, skip, complete or abandon");
}

}  // namespace outrigger::saga
