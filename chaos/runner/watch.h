#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chaos/spec/scenario.h"

namespace outrigger::chaos {

/// One guardrail over time. Pure: it is told the totals and the time.
class GuardrailWatch final {
 public:
  explicit GuardrailWatch(const Guardrail& guardrail) : guardrail_(guardrail) {}

  /// Totals since the start of the load, `elapsed` after it. Returns what was breached when the last of the consecutive intervals was bad.
  /// An interval without answers neither breaches nor forgives.
  [[nodiscard]] std::optional<std::string> see(std::chrono::nanoseconds elapsed, std::uint64_t sent, std::uint64_t failed);

 private:
  Guardrail guardrail_;
  std::chrono::nanoseconds since_{0};
  std::uint64_t sent_ = 0;
  std::uint64_t failed_ = 0;
  unsigned breaches_ = 0;
};

}  // namespace outrigger::chaos
