#pragma once

#include "chaos/spec/scenario.h"
#include "lib/runtime/error.h"

namespace outrigger::chaos {

/// Asks once, on a connection of its own. Success: the answer has the status that the probe expects.
/// Errors: kUnavailable: no answer in time; kFailedPrecondition: another status.
[[nodiscard]] Result<void> check_probe(const Probe& probe);

}  // namespace outrigger::chaos
