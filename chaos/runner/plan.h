#pragma once

#include <string>
#include <vector>

#include "chaos/runner/environment.h"
#include "chaos/spec/scenario.h"

namespace outrigger::chaos {

/// One thing that must hold before anything is injected.
struct Check {
  std::string subject;  ///< "fault slow"
  bool ok = false;
  std::string detail;  ///< what was found, and what to do when it is not ok
};

struct Plan {
  std::string run_id;
  unsigned connections = 0;  ///< of the load
  std::vector<Check> checks;

  [[nodiscard]] bool is_feasible() const;
  [[nodiscard]] std::vector<std::string> refusals() const;
};

/// Looks and injects nothing: targets answer and would take the faults, nothing else is armed there, probes are met, the load can be held
/// while requests are delayed, and every assertion can get the samples that it needs.
[[nodiscard]] Plan make_plan(const Scenario& scenario, const std::string& run_id, const Environment& environment);

}  // namespace outrigger::chaos
