#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lib/telemetry/metrics.h"
#include "service/journal/batch.h"
#include "service/saga/engine.h"

namespace outrigger::saga {

/// What a lane shows to other threads; written by its thread only.
struct LaneStats {
  std::atomic<std::uint32_t> assignments_seen = 0;  ///< partitions assigned so far, whether still owned or not
  std::atomic<std::uint32_t> partitions_owned = 0;
  std::atomic<std::uint32_t> partitions_restored = 0;
  std::atomic<std::uint64_t> running = 0;
  std::atomic<std::uint64_t> compensating = 0;
  std::atomic<std::uint64_t> stuck = 0;
  std::atomic<std::uint64_t> paused = 0;
  std::atomic<std::int64_t> oldest_ms = 0;  ///< creation of the oldest unfinished saga; 0: none
};

/// Counts what the lanes do. Thread-safe.
class Recorder final {
 public:
  explicit Recorder(telemetry::Registry& registry);

  /// Makes the counters of a definition that objectives are computed from, at zero: a counter that appears with its first event
  /// hides that event from increase().
  void expect(std::string_view definition);

  /// A round's inputs: how long the first of them had waited, and how long loading and deciding took.
  void decided(MonotonicTime::duration waited, MonotonicTime::duration took);
  /// A committed batch: every count of sagas and steps follows from its history and final states.
  void committed(const journal::Batch& batch, std::size_t inputs, MonotonicTime::duration took);
  void commit_failed(ErrorCode code);
  void restored(std::size_t partitions, std::size_t unfinished, MonotonicTime::duration took);
  void timer_late(WallTime::duration late);
  void absorbed(std::string_view kind);
  void queue_full(std::string_view queue);
  void transport_full() { transport_full_.add(); }
  void parked() { parked_.add(); }

 private:
  void saga_ended(const SagaState& saga, const HistoryEvent& event);
  void step_ended(const SagaState& saga, const HistoryEvent& event, std::string_view outcome);

  telemetry::Registry& registry_;
  telemetry::Histogram& queue_wait_;
  telemetry::Histogram& decide_duration_;
  telemetry::Histogram& commit_duration_;
  telemetry::Histogram& commit_inputs_;
  telemetry::Histogram& restore_duration_;
  telemetry::Histogram& timer_lateness_;
  telemetry::Counter& restores_;
  telemetry::Counter& restored_sagas_;
  telemetry::Counter& transport_full_;
  telemetry::Counter& dead_letters_;
  telemetry::Counter& removed_;
  telemetry::Counter& parked_;
};

}  // namespace outrigger::saga
