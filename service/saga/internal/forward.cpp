#include <algorithm>
#include <format>

#include "service/saga/internal/deciding.h"
#include "service/saga/internal/payload.h"

namespace outrigger::saga {

using participant::Direction;
using participant::Outcome;
using participant::Reply;
using std::chrono::milliseconds;

void Deciding::advance() {
  const bool is_complete = std::ranges::all_of(saga().steps, [](const StepState& each) { return each.status == StepStatus::kSucceeded; });
  if (is_complete) {
    saga().status = SagaStatus::kCompleted;
    note(history::kCompleted, {}, {});
    return;
  }
  if (now_ >= saga().deadline) {
    note(history::kDeadline, {}, {});
    compensate("the saga's deadline has passed");
    return;
  }
  for (std::size_t i = 0; i < saga().steps.size(); ++i) {
    const auto is_done = [&](const std::string& before) { return step(*definition_.index_of(before)).status == StepStatus::kSucceeded; };
    if (step(i).status == StepStatus::kPending && std::ranges::all_of(definition_.steps[i].after, is_done)) {
      dispatch(i);
    }
  }
}

void Deciding::dispatch(std::size_t index) {
  auto& state = step(index);
  state.status = StepStatus::kDispatched;
  ++state.attempt;
  state.next_at = std::min(now_ + definition_.steps[index].timeout, saga().deadline);
  if (!state.started_at) {
    state.started_at = now_;
  }
  note(history::kDispatched, state.name, std::format("attempt {}", state.attempt));
  decision_.commands.push_back(make_command(definition_, saga(), index, Direction::kDo));
}

void Deciding::on_do_reply(std::size_t index, const Reply& reply) {
  auto& state = step(index);
  if (state.status != StepStatus::kDispatched && state.status != StepStatus::kUnknown) {
    return;
  }
  const bool answers_this_attempt = state.status == StepStatus::kDispatched && reply.attempt == state.attempt;
  switch (reply.outcome) {
    case Outcome::kSuccess:
      settle(index, StepStatus::kSucceeded, reply);
      note(history::kSucceeded, state.name, {});
      advance();
      return;
    case Outcome::kFailed:
    case Outcome::kRefused:
      settle(index, StepStatus::kFailed, reply);
      note(history::kFailed, state.name, state.error);
      compensate(std::format("step {} failed", state.name));
      return;
    case Outcome::kRetry:
      if (answers_this_attempt) {
        state.error = cut(reply.reason);
        note(history::kRetryLater, state.name, state.error);
        try_later(index, reply.retry_after.value_or(milliseconds(0)));
      }
      return;
    case Outcome::kInProgress:
      if (answers_this_attempt) {
        state.next_at = std::min(now_ + definition_.steps[index].timeout, saga().deadline);
        note(history::kInProgress, state.name, {});
      }
      return;
  }
}

void Deciding::settle(std::size_t index, StepStatus status, const Reply& reply) {
  auto& state = step(index);
  state.status = status;
  state.next_at.reset();
  state.ended_at = now_;
  state.error = status == StepStatus::kSucceeded ? std::string() : cut(reply.reason);
  if (status == StepStatus::kSucceeded) {
    state.output = as_json(reply.output);
    if (state.completion_sequence == 0) {
      state.completion_sequence = ++saga().completions;
    }
  }
}

/// No definite answer to this attempt. The step stays UNKNOWN, since an earlier send may yet have an effect.
void Deciding::try_later(std::size_t index, milliseconds at_least) {
  auto& state = step(index);
  const auto& policy = definition_.steps[index].retry;
  state.status = StepStatus::kUnknown;
  state.next_at.reset();
  if (state.attempt >= policy.attempts) {
    note(history::kUnknown, state.name, std::format("no definite answer to {} attempt(s)", state.attempt));
    compensate(std::format("step {} gave no definite answer", state.name));
    return;
  }
  state.next_at = now_ + std::max(backoff(policy, saga().id, state.name, state.attempt), std::clamp(at_least, milliseconds(0), kMaxRetryAfter));
}

/// The answer to a do that comes when the saga is already going back, before the step's turn to be undone: what it says
/// decides whether there is anything to undo. During and after the undo it says nothing that the undo does not cover.
void Deciding::on_late_do_reply(std::size_t index, const Reply& reply) {
  auto& state = step(index);
  if (state.status != StepStatus::kUnknown) {
    return;
  }
  if (reply.outcome == Outcome::kSuccess) {
    settle(index, StepStatus::kSucceeded, reply);
    note(history::kSucceeded, state.name, "late; will be undone");
  } else if (reply.outcome == Outcome::kFailed || reply.outcome == Outcome::kRefused) {
    settle(index, StepStatus::kFailed, reply);
    note(history::kFailed, state.name, state.error);
  }
}

std::string cut(std::string text) {
  constexpr std::size_t kMaxBytes = 1024;
  if (text.size() > kMaxBytes) {
    text.resize(kMaxBytes);
  }
  return text;
}

}  // namespace outrigger::saga
