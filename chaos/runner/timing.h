#pragma once

#include <algorithm>
#include <chrono>

#include "chaos/spec/scenario.h"

namespace outrigger::chaos {

/// Length of the windows that latencies are collected in: about a thousandth of the scenario, which bounds their memory.
[[nodiscard]] inline std::chrono::nanoseconds window_length(const Scenario& scenario) {
  return std::clamp<std::chrono::nanoseconds>(scenario.phases.total() / 1000, std::chrono::milliseconds{50}, std::chrono::seconds{1});
}

/// What of a phase is measured: a window at either end is left out, for requests under way at its border belong to neither side,
/// and up to one more because windows do not begin with the phase.
[[nodiscard]] inline std::chrono::nanoseconds measured_length(const Scenario& scenario, Phase phase) {
  return scenario.phases.of(phase) - 4 * window_length(scenario);
}

}  // namespace outrigger::chaos
