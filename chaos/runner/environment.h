#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "chaos/drivers/fault_driver.h"
#include "chaos/spec/scenario.h"

namespace outrigger {
class StopSignal;
}

namespace outrigger::chaos {

/// Everything outside that a run touches, beside its load and its journal.
struct Environment {
  /// For the driver's name and the target's address. Never null.
  std::function<std::unique_ptr<FaultDriver>(const std::string& driver, const std::string& admin)> make_driver;
  std::function<Result<void>(const Probe&)> check_probe;
  /// Waits at most that long; the number of a signal that asks to stop, if one came.
  std::function<std::optional<int>(std::chrono::milliseconds)> wait_for_stop;
  /// One line of news for people.
  std::function<void(std::string_view)> progress;
  /// How long the end of a fault is tried for before it counts as not cleaned up.
  std::chrono::milliseconds clean_up_budget = std::chrono::seconds{10};
};

/// Real drivers, probes and signals. `signal` outlives it.
[[nodiscard]] Environment real_environment(StopSignal& signal, std::function<void(std::string_view)> progress);

/// The fault's name at its target: "chaos-<run id>-<fault id>", so that clean-up touches only what this run made.
[[nodiscard]] std::string armed_id(const std::string& run_id, const Fault& fault);

}  // namespace outrigger::chaos
