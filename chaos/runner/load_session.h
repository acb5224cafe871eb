#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "chaos/spec/scenario.h"
#include "lib/load/summary.h"

namespace outrigger::chaos {

/// The load of a run, in threads of its own, from its construction until finish(). totals() may be called from any thread.
class LoadSession final {
 public:
  struct Totals {
    std::uint64_t sent = 0;  ///< and answered, or given up
    std::uint64_t failed = 0;
  };

  LoadSession(const Scenario& scenario, unsigned connections, const std::string& run_id);
  ~LoadSession();
  LoadSession(const LoadSession&) = delete;
  LoadSession& operator=(const LoadSession&) = delete;

  [[nodiscard]] std::chrono::nanoseconds elapsed() const;
  [[nodiscard]] Totals totals() const;

  /// Stops and waits for the answers under way, at most the requests' timeout.
  [[nodiscard]] load::Summary finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outrigger::chaos
