#pragma once

#include <memory>
#include <vector>

#include "service/saga/engine.h"
#include "service/saga/internal/lane.h"

namespace outrigger::saga {

/// Sums what the lanes show, for Engine::stats() and for the gauges, which a registry may still read when the engine has gone.
/// Thread-safe.
class EngineGauges final {
 public:
  EngineGauges(telemetry::Registry& registry, const WallClock& clock);

  /// The lanes to sum from now on.
  void watch(std::vector<std::shared_ptr<Lane>> lanes);
  [[nodiscard]] EngineStats stats() const;

 private:
  struct Watched;
  std::shared_ptr<Watched> watched_;
};

}  // namespace outrigger::saga
