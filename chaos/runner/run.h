#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chaos/runner/environment.h"
#include "chaos/runner/evidence.h"
#include "chaos/runner/journal.h"
#include "chaos/runner/plan.h"
#include "chaos/runner/verdict.h"
#include "chaos/spec/scenario.h"
#include "lib/load/summary.h"

namespace outrigger::chaos {

/// When a phase went on, after the start of the load.
struct PhaseSpan {
  Phase phase = Phase::kBaseline;
  std::chrono::nanoseconds from{0};
  std::chrono::nanoseconds to{0};
  load::Window measured;  ///< of the part that counts, see timing.h
};

/// Everything that a run found. What it did not get to is empty.
struct RunReport {
  std::string run_id;
  std::string journal;
  WallTime started;
  WallTime ended;
  Plan plan;
  std::vector<PhaseSpan> phases;
  std::optional<load::Summary> load;
  load::Validity validity;
  std::vector<Dose> doses;
  Evidence evidence;
  Decision decision;
};

/// Plans, and when the plan holds: baseline, faults, inject, revert, observe, recover, verdict. Blocks for the length of the phases.
///
/// Whatever happens, every fault that was armed gets its revert before it returns. A signal (environment.wait_for_stop) ends it early,
/// clean-up included; later ones change nothing.
[[nodiscard]] RunReport run(const Scenario& scenario, const std::string& run_id, Journal& journal, const Environment& environment);

}  // namespace outrigger::chaos
