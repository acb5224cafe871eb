#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/load/recorder.h"
#include "lib/load/schedule.h"

namespace outrigger::load {

/// A finished (or stopped) run.
struct Summary {
  std::string target;  ///< "GET http://127.0.0.1:8000/api/health"
  Rate rate;           ///< of the first stage
  Profile profile;
  std::chrono::nanoseconds planned{0};
  std::chrono::nanoseconds elapsed{0};  ///< to the last answer
  std::uint64_t offered = 0;            ///< requests that the schedule asked for until the end or the stop
  bool stopped_early = false;           ///< told to stop
  double cpu_ratio = 0;                 ///< CPU time of this process / (elapsed · CPUs)
  Measurements measured;
};

/// What one stage of a staircase came to.
struct StageResult {
  Stage stage;
  std::chrono::nanoseconds start{0};
  Window measured;  ///< of the requests that were meant to start in it
};
/// One entry a stage; a stage that is no whole number of the series' windows shows those that lie in it.
[[nodiscard]] std::vector<StageResult> by_stage(const Summary& summary);

/// Bounds of a load that may be believed.
struct ValidityLimits {
  double least_achieved = 0.99;  ///< of the offered rate
  double most_dropped = 0.001;   ///< of the offered requests
  double most_cpu = 0.8;         ///< beyond it the generator measures itself
};

/// Whether the load that reached the target was the load that was asked for. Says nothing about the target.
struct Validity {
  double achieved_ratio = 0;
  double dropped_ratio = 0;
  std::vector<std::string> reasons;  ///< why it is not valid; empty: valid

  [[nodiscard]] bool valid() const { return reasons.empty(); }
};

[[nodiscard]] Validity judge(const Summary& summary, const ValidityLimits& limits = {});

}  // namespace outrigger::load
