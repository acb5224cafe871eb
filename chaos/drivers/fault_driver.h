#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chaos/spec/scenario.h"
#include "lib/runtime/error.h"

namespace outrigger::chaos {

/// A fault as its target reports it.
struct FaultState {
  std::string id;
  std::uint64_t hits = 0;     ///< requests that it was applied to
  std::uint64_t skipped = 0;  ///< requests that matched and were left alone
};

/// What arms and ends faults at one target. `id` is the name there, which carries the run's id: a driver touches nothing else.
///
/// Every call returns within its deadline; then its outcome is unknown (kDeadlineExceeded, kUnavailable) and the call may be repeated: apply
/// and revert are idempotent. Not thread-safe.
class FaultDriver {
 public:
  virtual ~FaultDriver() = default;

  /// Would `apply` be accepted? Arms nothing. Errors: kFailedPrecondition: the target takes no faults; kUnavailable: nobody answers.
  [[nodiscard]] virtual Result<void> check(const std::string& id, const Fault& fault) = 0;
  /// Everything that is armed there now, whoever did it.
  [[nodiscard]] virtual Result<std::vector<FaultState>> armed() = 0;
  [[nodiscard]] virtual Result<FaultState> apply(const std::string& id, const Fault& fault) = 0;
  /// Errors: kNotFound: it is not armed (any more).
  [[nodiscard]] virtual Result<FaultState> state(const std::string& id) = 0;
  /// Ends the fault and returns its last state. Errors: kNotFound: it was not armed (any more).
  [[nodiscard]] virtual Result<FaultState> revert(const std::string& id) = 0;
};

}  // namespace outrigger::chaos
