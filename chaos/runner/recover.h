#pragma once

#include <string>
#include <vector>

#include "chaos/runner/environment.h"
#include "chaos/runner/journal.h"
#include "chaos/runner/verdict.h"

namespace outrigger::chaos {

struct Recovery {
  std::string run_id;
  std::string scenario;
  bool was_interrupted = false;     ///< the journal has no end
  std::vector<std::string> ended;   ///< faults that were armed and are gone now
  std::vector<std::string> absent;  ///< faults that were gone already
  Decision decision;                ///< kPass or kCleanUpIncomplete
};

/// Ends every fault of a journal whose end is not verified, and nothing else at its targets. Idempotent: a second time there is nothing to do.
/// Errors: kInvalidArgument when the journal cannot be read.
[[nodiscard]] Result<Recovery> recover(Journal& journal, const Environment& environment);

}  // namespace outrigger::chaos
