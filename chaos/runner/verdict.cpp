#include "chaos/runner/verdict.h"

#include <format>

#include "lib/runtime/error.h"

namespace outrigger::chaos {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kFailed: return "failed";
    case Verdict::kInvalid: return "invalid";
    case Verdict::kInconclusive: return "inconclusive";
    case Verdict::kRefused: return "refused";
    case Verdict::kAborted: return "aborted";
    case Verdict::kCleanUpIncomplete: return "clean-up incomplete";
  }
  impossible("chaos::Verdict");
}

Decision decide(const Evidence& evidence) {
  if (!evidence.leftovers.empty()) {
    return {Verdict::kCleanUpIncomplete, evidence.leftovers};
  }
  if (!evidence.aborts.empty()) {
    return {Verdict::kAborted, evidence.aborts};
  }
  if (!evidence.refusals.empty()) {
    return {Verdict::kRefused, evidence.refusals};
  }
  if (!evidence.doubts.empty()) {
    return {Verdict::kInconclusive, evidence.doubts};
  }
  std::vector<std::string> failures = evidence.failures;
  std::vector<std::string> undecided;
  for (const auto& result : evidence.assertions) {
    const auto text = std::format("assertion {} ({}): {} of {} samples beyond the limit", result.id, result.text, result.bad, result.n);
    if (result.finding == Finding::kFail) {
      failures.push_back(text);
    } else if (result.finding == Finding::kInconclusive) {
      undecided.push_back(std::format("{}: too few to tell, at least {} needed", text, result.min_samples));
    }
  }
  if (!failures.empty()) {
    return {Verdict::kFailed, failures};
  }
  if (evidence.assertions.empty()) {
    undecided.emplace_back("nothing was asserted");
  }
  return undecided.empty() ? Decision{Verdict::kPass, {}} : Decision{Verdict::kInconclusive, undecided};
}

}  // namespace outrigger::chaos
