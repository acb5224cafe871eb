#include "chaos/runner/recover.h"

#include <format>

#include "chaos/runner/clean_up.h"
#include "chaos/runner/replay.h"

namespace outrigger::chaos {

Result<Recovery> recover(Journal& journal, const Environment& environment) {
  const auto state = replay(journal.earlier(), journal.path());
  if (!state) {
    return std::unexpected(state.error());
  }
  Recovery recovery{.run_id = state->run_id,
                    .scenario = state->scenario,
                    .was_interrupted = !state->exit_code.has_value(),
                    .ended = {},
                    .absent = {},
                    .decision = {}};
  for (const auto& fault : state->open) {
    const auto driver = environment.make_driver(fault.driver, fault.admin);
    const auto result = clean_up(*driver, fault.armed_id, journal, environment.clean_up_budget);
    if (!result.is_gone) {
      recovery.decision.reasons.push_back(std::format("fault {} may still be armed at {}: {}", fault.armed_id, fault.admin, result.problem));
    } else {
      (result.was_armed ? recovery.ended : recovery.absent).push_back(fault.armed_id);
    }
  }
  recovery.decision.verdict = recovery.decision.reasons.empty() ? Verdict::kPass : Verdict::kCleanUpIncomplete;
  return recovery;
}

}  // namespace outrigger::chaos
