#pragma once

#include <chrono>
#include <string>

#include "chaos/drivers/fault_driver.h"
#include "chaos/runner/journal.h"

namespace outrigger::chaos {

struct CleanUp {
  bool is_gone = false;    ///< the target says that it is not armed
  bool was_armed = false;  ///< this call ended it, or may have
  FaultState last;         ///< when it was armed and the target told
  std::string problem;     ///< why it is not known to be gone
};

/// Ends a fault and asks its target whether it is gone; journals reverting, reverted and verified. Idempotent. Repeats until `budget` is over; no
/// signal shortens it. A journal that cannot be written does not stop it.
[[nodiscard]] CleanUp clean_up(FaultDriver& driver, const std::string& armed_id, Journal& journal, std::chrono::milliseconds budget);

}  // namespace outrigger::chaos
