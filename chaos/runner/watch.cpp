#include "chaos/runner/watch.h"

#include <format>

namespace outrigger::chaos {

std::optional<std::string> GuardrailWatch::see(std::chrono::nanoseconds elapsed, std::uint64_t sent, std::uint64_t failed) {
  if (elapsed - since_ < guardrail_.interval || sent == sent_) {
    return std::nullopt;
  }
  const double ratio = static_cast<double>(failed - failed_) / static_cast<double>(sent - sent_);
  since_ = elapsed;
  sent_ = sent;
  failed_ = failed;
  breaches_ = ratio > guardrail_.max_error_ratio ? breaches_ + 1 : 0;
  if (breaches_ < guardrail_.consecutive) {
    return std::nullopt;
  }
  return std::format("guardrail: error_ratio was above {} in {} intervals in a row, {:.3f} in the last", guardrail_.max_error_ratio, breaches_,
                     ratio);
}

}  // namespace outrigger::chaos
