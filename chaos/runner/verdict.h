#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chaos/runner/evidence.h"

namespace outrigger::chaos {

/// Exit codes of `outrigger chaos`.
enum class Verdict : int {
  kPass = 0,
  kFailed = 1,             ///< the hypothesis does not hold
  kInvalid = 2,            ///< wrong flags, scenario or journal
  kInconclusive = 3,       ///< no proven dose, invalid load, unstable baseline or too few samples
  kRefused = 4,            ///< preflight: nothing was injected
  kAborted = 5,            ///< stopped by a guardrail or a signal; everything is cleaned up
  kCleanUpIncomplete = 6,  ///< a fault may still be armed; overrides all
};
[[nodiscard]] std::string_view name(Verdict verdict);

/// Everything that a verdict rests on; texts are for people.
struct Evidence {
  std::vector<std::string> leftovers;  ///< faults that could not be seen to be gone
  std::vector<std::string> refusals;   ///< why nothing was injected
  std::vector<std::string> aborts;     ///< why it was stopped
  std::vector<std::string> doubts;     ///< why no answer would mean anything
  std::vector<std::string> failures;   ///< of the system, beside the assertions: it did not recover
  std::vector<AssertionResult> assertions;
};

struct Decision {
  Verdict verdict = Verdict::kInconclusive;
  std::vector<std::string> reasons;
};

/// The first that applies: clean-up incomplete, aborted, refused, doubts (inconclusive), a failed assertion or recovery, an assertion that
/// could not be decided, pass. Pure. No assertion at all is inconclusive.
[[nodiscard]] Decision decide(const Evidence& evidence);

}  // namespace outrigger::chaos
