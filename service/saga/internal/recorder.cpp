#include "service/saga/internal/recorder.h"

#include <algorithm>

#include "service/saga/decide.h"
#include "service/saga/metrics.h"

namespace outrigger::saga {

Recorder::Recorder(telemetry::Registry& registry)
    : registry_(registry),
      queue_wait_(registry.histogram(metrics::kQueueWait)),
      decide_duration_(registry.histogram(metrics::kDecideDuration)),
      commit_duration_(registry.histogram(metrics::kCommitDuration)),
      commit_inputs_(registry.histogram(metrics::kCommitInputs, metrics::kCommitInputBuckets)),
      restore_duration_(registry.histogram(metrics::kRestoreDuration)),
      timer_lateness_(registry.histogram(metrics::kTimerLateness)),
      restores_(registry.counter(metrics::kRestores)),
      restored_sagas_(registry.counter(metrics::kRestoredSagas)),
      transport_full_(registry.counter(metrics::kTransportFull)),
      dead_letters_(registry.counter(metrics::kDeadLetters)),
      removed_(registry.counter(metrics::kRemoved)),
      parked_(registry.counter(metrics::kParked)) {
  // Series that alerts watch are there from the start, at zero.
  for (const std::string_view queue : {"start", "reply", "inbox", "wait"}) {
    registry.counter(metrics::kQueueFull, {{"queue", std::string(queue)}});
  }
  for (const std::string_view kind : {"reply", "timer", "unknown_saga", "start"}) {
    registry.counter(metrics::kDuplicates, {{"kind", std::string(kind)}});
  }
}

void Recorder::expect(std::string_view definition) {
  const telemetry::Labels labels{{"definition", std::string(definition)}};
  for (const auto& info : {metrics::kStarted, metrics::kStuckTotal, metrics::kDeadlineExceeded}) {
    registry_.counter(info, labels);
  }
}

namespace {

/// The state of a saga in a batch of a Round, whose states are in the order of their ids.
const SagaState* find(const journal::Batch& batch, std::string_view saga_id) {
  const auto id_of = [](const SagaPointer& state) -> std::string_view { return state->id; };
  const auto found = std::ranges::lower_bound(batch.states, saga_id, {}, id_of);
  return found == batch.states.end() || (*found)->id != saga_id ? nullptr : found->get();
}

}  // namespace

void Recorder::decided(MonotonicTime::duration waited, MonotonicTime::duration took) {
  queue_wait_.observe(waited);
  decide_duration_.observe(took);
}

void Recorder::committed(const journal::Batch& batch, std::size_t inputs, MonotonicTime::duration took) {
  commit_duration_.observe(took);
  commit_inputs_.observe(static_cast<double>(inputs));
  dead_letters_.add(batch.dead_letters.size());
  removed_.add(batch.removals.size());
  for (const auto& record : batch.history) {
    const auto& event = record.event;
    const auto* found = find(batch, record.saga_id);
    if (found == nullptr) {
      continue;
    }
    const auto& saga = *found;
    if (event.event == history::kStarted) {
      registry_.counter(metrics::kStarted, {{"definition", saga.definition}}).add();
    } else if (event.event == history::kCompleted || event.event == history::kCompensated || event.event == history::kAbandoned) {
      saga_ended(saga, event);
    } else if (event.event == history::kStuck) {
      registry_.counter(metrics::kStuckTotal, {{"definition", saga.definition}}).add();
    } else if (event.event == history::kDeadline) {
      registry_.counter(metrics::kDeadlineExceeded, {{"definition", saga.definition}}).add();
    } else if (event.event == history::kSucceeded) {
      step_ended(saga, event, "SUCCEEDED");
    } else if (event.event == history::kFailed) {
      step_ended(saga, event, "FAILED");
    } else if (event.event == history::kUnknown) {
      registry_.counter(metrics::kStepUnknown, {{"definition", saga.definition}, {"step", event.step}}).add();
      step_ended(saga, event, "UNKNOWN");
    }
  }
  for (const auto& command : batch.commands) {
    if (command.attempt > 1) {
      const auto* found = find(batch, command.saga_id);
      registry_
          .counter(metrics::kStepRetries, {{"definition", found == nullptr ? "" : found->definition},
                                           {"step", command.step},
                                           {"direction", std::string(participant::name(command.direction))}})
          .add();
    }
  }
}

void Recorder::saga_ended(const SagaState& saga, const HistoryEvent& event) {
  const telemetry::Labels labels{{"definition", saga.definition}, {"outcome", std::string(name(saga.status))}};
  registry_.counter(metrics::kFinished, labels).add();
  registry_.histogram(metrics::kDuration, metrics::kSagaSeconds, labels).observe(event.at - saga.created_at);
}

void Recorder::step_ended(const SagaState& saga, const HistoryEvent& event, std::string_view outcome) {
  const auto step = std::ranges::find(saga.steps, event.step, &StepState::name);
  if (step != saga.steps.end() && step->started_at) {
    registry_
        .histogram(metrics::kStepDuration, telemetry::kLatencySeconds,
                   {{"definition", saga.definition}, {"step", event.step}, {"outcome", std::string(outcome)}})
        .observe(event.at - *step->started_at);
  }
}

void Recorder::commit_failed(ErrorCode code) { registry_.counter(metrics::kCommitFailures, {{"reason", std::string(name(code))}}).add(); }

void Recorder::restored(std::size_t partitions, std::size_t unfinished, MonotonicTime::duration took) {
  restores_.add(partitions);
  restored_sagas_.add(unfinished);
  restore_duration_.observe(took);
}

void Recorder::timer_late(WallTime::duration late) { timer_lateness_.observe(std::max(late, WallTime::duration::zero())); }
void Recorder::absorbed(std::string_view kind) { registry_.counter(metrics::kDuplicates, {{"kind", std::string(kind)}}).add(); }
void Recorder::queue_full(std::string_view queue) { registry_.counter(metrics::kQueueFull, {{"queue", std::string(queue)}}).add(); }

}  // namespace outrigger::saga
