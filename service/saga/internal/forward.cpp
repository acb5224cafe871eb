#include <algorithm>
#include <format>

#include "service/saga/internal/deciding.h"
#include "service/saga/internal/payload.h"

namespace outrigger::saga {

using participant::Direction;
using participant::Outcome;
using participant::Reply;
using std::chrono::milliseconds;

void Deciding::go_forward() {
  const auto has_status = [](StepStatus status) { return [status](const StepState& each) { return each.status == status; }; };
  const auto given_up = std::ranges::find_if(saga().steps, [](const StepState& each) {
    return each.status == StepStatus::kFailed || (each.status == StepStatus::kUnknown && !each.next_at);
  });
  if (given_up != saga().steps.end() && can_go_back()) {
    compensate(std::format("step {} {}", given_up->name, given_up->status == StepStatus::kFailed ? "failed" : "gave no definite answer"));
    return;
  }
  if (std::ranges::all_of(saga().steps, has_status(StepStatus::kSucceeded))) {
    saga().status = SagaStatus::kCompleted;
    note(history::kCompleted, {}, {});
    return;
  }
  if (now_ >= saga().deadline) {
    pass_deadline();
    if (!goes_forward()) {
      return;
    }
  }
  saga().status = std::ranges::any_of(saga().steps, has_status(StepStatus::kFailed)) ? SagaStatus::kStuck : SagaStatus::kRunning;
  for (std::size_t i = 0; i < saga().steps.size(); ++i) {
    const auto is_done = [&](const std::string& before) { return step(*definition_.index_of(before)).status == StepStatus::kSucceeded; };
    if (step(i).status == StepStatus::kPending && std::ranges::all_of(definition_.steps[i].after, is_done)) {
      dispatch(i);
    }
  }
}

void Deciding::pass_deadline() {
  const bool goes_back = can_go_back();
  if (!saga().deadline_passed) {
    saga().deadline_passed = true;
    note(history::kDeadline, {}, goes_back ? "" : "there is no way back from the pivot: it goes on");
  }
  if (goes_back) {
    compensate("the saga's deadline has passed");
  }
}

void Deciding::dispatch(std::size_t index) {
  auto& state = step(index);
  state.status = StepStatus::kDispatched;
  ++state.attempt;
  state.next_at = now_ + definition_.steps[index].timeout;
  if (can_go_back()) {
    state.next_at = std::min(*state.next_at, saga().deadline);
  }
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
    case Outcome::kSuccess: succeed(index, as_json(reply.output), {}); return;
    case Outcome::kFailed:
    case Outcome::kRefused:
      state.status = StepStatus::kFailed;
      state.next_at.reset();
      state.ended_at = now_;
      state.error = cut(reply.reason);
      note(history::kFailed, state.name, state.error);
      if (!can_go_back()) {
        note(history::kStuck, state.name, "it failed past the pivot; an operator must retry, complete or abandon");
      }
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
        state.next_at = now_ + definition_.steps[index].timeout;
        if (can_go_back()) {
          state.next_at = std::min(*state.next_at, saga().deadline);
        }
        note(history::kInProgress, state.name, {});
      }
      return;
  }
}

void Deciding::succeed(std::size_t index, std::string output, std::string detail) {
  auto& state = step(index);
  state.status = StepStatus::kSucceeded;
  state.next_at.reset();
  state.ended_at = now_;
  state.error.clear();
  state.output = std::move(output);
  state.completion_sequence = ++saga().completions;
  note(history::kSucceeded, state.name, std::move(detail));
}

/// No definite answer to this attempt. The step stays UNKNOWN, since an earlier send may yet have an effect. Where there is a way
/// back the attempts are limited; a step without its next send is given up.
void Deciding::try_later(std::size_t index, milliseconds at_least) {
  auto& state = step(index);
  const auto& policy = definition_.steps[index].retry;
  state.status = StepStatus::kUnknown;
  state.next_at.reset();
  if (state.attempt >= policy.attempts && can_go_back()) {
    note(history::kUnknown, state.name, std::format("no definite answer to {} attempt(s)", state.attempt));
    return;
  }
  state.next_at = now_ + std::max(backoff(policy, saga().id, state.name, state.attempt), std::clamp(at_least, milliseconds(0), kMaxRetryAfter));
}

std::string cut(std::string text) {
  constexpr std::size_t kMaxBytes = 1024;
  if (text.size() > kMaxBytes) {
    text.resize(kMaxBytes);
  }
  return text;
}

}  // namespace outrigger::saga
