#include "service/saga/internal/engine_gauges.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "service/saga/metrics.h"

namespace outrigger::saga {

struct EngineGauges::Watched {
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<Lane>> lanes;

  [[nodiscard]] EngineStats sum() const {
    const std::lock_guard lock(mutex);
    EngineStats sum;
    for (const auto& lane : lanes) {
      const auto& each = lane->stats();
      sum.partitions_owned += each.partitions_owned;
      sum.partitions_restored += each.partitions_restored;
      sum.running += each.running;
      sum.compensating += each.compensating;
      sum.stuck += each.stuck;
      sum.paused += each.paused;
      const WallTime oldest{std::chrono::milliseconds(each.oldest_ms)};
      if (oldest != WallTime{} && (!sum.oldest_created_at || oldest < *sum.oldest_created_at)) {
        sum.oldest_created_at = oldest;
      }
    }
    return sum;
  }
};

EngineGauges::EngineGauges(telemetry::Registry& registry, const WallClock& clock) : watched_(std::make_shared<Watched>()) {
  const auto read = [watched = watched_](double (*value)(const EngineStats&)) { return [watched, value] { return value(watched->sum()); }; };
  const auto active = [&](SagaStatus status, double (*value)(const EngineStats&)) {
    registry.gauge_function(metrics::kActive, read(value), {{"status", std::string(name(status))}});
  };
  active(SagaStatus::kRunning, [](const EngineStats& stats) { return static_cast<double>(stats.running); });
  active(SagaStatus::kCompensating, [](const EngineStats& stats) { return static_cast<double>(stats.compensating); });
  active(SagaStatus::kStuck, [](const EngineStats& stats) { return static_cast<double>(stats.stuck); });
  active(SagaStatus::kPaused, [](const EngineStats& stats) { return static_cast<double>(stats.paused); });
  registry.gauge_function(metrics::kPartitionsOwned, read([](const EngineStats& stats) { return static_cast<double>(stats.partitions_owned); }));
  registry.gauge_function(metrics::kOldestAge, [watched = watched_, clock] {
    const auto oldest = watched->sum().oldest_created_at;
    return oldest ? std::max(0.0, std::chrono::duration<double>(clock() - *oldest).count()) : 0.0;
  });
}

void EngineGauges::watch(std::vector<std::shared_ptr<Lane>> lanes) {
  const std::lock_guard lock(watched_->mutex);
  watched_->lanes = std::move(lanes);
}

EngineStats EngineGauges::stats() const { return watched_->sum(); }

}  // namespace outrigger::saga
