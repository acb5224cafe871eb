#include "service/saga/decide.h"

#include <algorithm>
#include <format>

#include "lib/runtime/duration.h"
#include "service/saga/internal/deciding.h"
#include "service/saga/internal/payload.h"

namespace outrigger::saga {

using participant::Command;
using participant::Direction;
using participant::Reply;
using std::chrono::milliseconds;

void Deciding::begin() {
  note(history::kStarted, {}, std::format("{} v{}, deadline {}", definition_.name, definition_.version, format_duration(definition_.deadline)));
  proceed();
}

void Deciding::on(const Reply& reply) {
  const auto index = definition_.index_of(reply.step);
  if (!index || saga().is_finished()) {
    return;
  }
  const bool is_undo = reply.direction == Direction::kUndo;
  if (is_undo == goes_forward()) {
    return;  // what a do answers once the saga goes back says nothing that the undo does not cover
  }
  is_undo ? on_undo_reply(*index, reply) : on_do_reply(*index, reply);
  proceed();
}

void Deciding::on(const TimerFired&) {
  if (saga().is_finished() || saga().status == SagaStatus::kPaused) {
    return;
  }
  if (goes_forward() && now_ >= saga().deadline && can_go_back()) {
    pass_deadline();
    return;
  }
  for (std::size_t i = 0; i < saga().steps.size(); ++i) {
    if (step(i).next_at && *step(i).next_at <= now_) {
      on_step_timer(i);
    }
  }
  proceed();
}

/// What follows from how the steps stand. While the saga is paused, nothing does.
void Deciding::proceed() {
  if (saga().is_finished() || saga().status == SagaStatus::kPaused) {
    return;
  }
  goes_forward() ? go_forward() : go_back();
}

bool Deciding::goes_forward() {
  const auto status = saga().status == SagaStatus::kPaused ? saga().paused_status : saga().status;
  const auto pivot = definition_.pivot();
  return status == SagaStatus::kRunning || (status == SagaStatus::kStuck && pivot && step(*pivot).status == StepStatus::kSucceeded);
}

/// Not once the pivot has succeeded, nor while it may have and could not be undone.
bool Deciding::can_go_back() {
  const auto pivot = definition_.pivot();
  if (!pivot) {
    return true;
  }
  const auto status = step(*pivot).status;
  const bool is_in_doubt = status == StepStatus::kDispatched || status == StepStatus::kUnknown;
  return status != StepStatus::kSucceeded && (!is_in_doubt || definition_.steps[*pivot].compensate.has_value());
}

Decision Deciding::take() && {
  auto& state = decision_.state;
  decision_.changed = !decision_.history.empty();
  if (decision_.changed) {
    ++state.version;
    state.updated_at = std::max(state.updated_at, now_);
  }
  return std::move(decision_);
}

void Deciding::note(std::string_view event, std::string_view step_name, std::string detail) {
  auto& history = saga().history;
  const HistoryEvent line{.sequence = history.empty() ? 1 : history.back().sequence + 1,
                          .at = now_,
                          .event = std::string(event),
                          .step = std::string(step_name),
                          .detail = std::move(detail)};
  history.push_back(line);
  if (history.size() > SagaState::kHistoryLimit) {
    history.erase(history.begin());
  }
  decision_.history.push_back(line);
}

void Deciding::on_step_timer(std::size_t index) {
  auto& state = step(index);
  if (state.status == StepStatus::kDispatched) {
    note(history::kTimedOut, state.name, std::format("no answer to attempt {}", state.attempt));
    try_later(index, milliseconds(0));
  } else if (state.status == StepStatus::kUnknown) {
    dispatch(index);
  } else if (state.status == StepStatus::kCompensating && state.undo_waits) {
    dispatch_undo(index);
  } else if (state.status == StepStatus::kCompensating) {
    note(history::kUndoTimedOut, state.name, std::format("no answer to attempt {}", state.undo_attempt));
    undo_later(index, milliseconds(0));
  }
}

Decision begin(const Definition& definition, NewSaga saga, WallTime now) {
  SagaState state;
  state.id = std::move(saga.id);
  state.partition = saga.partition;
  state.definition = definition.name;
  state.definition_version = definition.version;
  state.definition_hash = definition.hash;
  state.idempotency_key = std::move(saga.idempotency_key);
  state.business_key = std::move(saga.business_key);
  state.search_terms = std::move(saga.search_terms);
  state.traceparent = std::move(saga.traceparent);
  state.input = std::move(saga.input);
  state.created_at = now;
  state.updated_at = now;
  state.deadline = now + definition.deadline;
  for (const auto& step : definition.steps) {
    StepState each;
    each.name = step.name;
    state.steps.push_back(std::move(each));
  }
  Deciding deciding(definition, std::move(state), now);
  deciding.begin();
  return std::move(deciding).take();
}

Result<Decision> decide(const Definition& definition, const SagaState& state, const Event& event, WallTime now) {
  Deciding deciding(definition, state, now);
  if (const auto* action = std::get_if<OperatorAction>(&event)) {
    if (auto done = deciding.on(*action); !done) {
      return std::unexpected(done.error());
    }
  } else if (const auto* reply = std::get_if<Reply>(&event)) {
    deciding.on(*reply);
  } else {
    deciding.on(TimerFired{});
  }
  return std::move(deciding).take();
}

namespace {

/// Something of it may be on its way. A stuck saga waits in one branch; others go on.
bool is_under_way(const SagaState& state) { return !state.is_finished() && state.status != SagaStatus::kPaused; }

}  // namespace

std::vector<Command> commands_in_flight(const Definition& definition, const SagaState& state) {
  std::vector<Command> commands;
  for (std::size_t i = 0; i < state.steps.size() && is_under_way(state); ++i) {
    const auto& step = state.steps[i];
    if (step.status == StepStatus::kDispatched) {
      commands.push_back(make_command(definition, state, i, Direction::kDo));
    } else if (step.status == StepStatus::kCompensating && !step.undo_waits) {
      commands.push_back(make_command(definition, state, i, Direction::kUndo));
    }
  }
  return commands;
}

std::optional<WallTime> next_due(const SagaState& state) {
  std::optional<WallTime> due;
  if (!is_under_way(state)) {
    return due;
  }
  if (state.status == SagaStatus::kRunning && !state.deadline_passed) {
    due = state.deadline;
  }
  for (const auto& step : state.steps) {
    if (step.next_at && (!due || *step.next_at < *due)) {
      due = step.next_at;
    }
  }
  return due;
}

}  // namespace outrigger::saga
