#include "chaos/spec/scenario.h"

#include <format>

#include "lib/runtime/duration.h"

namespace outrigger::chaos {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::kBaseline: return "baseline";
    case Phase::kInject: return "inject";
    case Phase::kObserve: return "observe";
    case Phase::kRecover: return "recover";
  }
  impossible("chaos::Phase");
}

std::string_view name(Metric metric) {
  switch (metric) {
    case Metric::kP50: return "p50";
    case Metric::kP99: return "p99";
    case Metric::kErrorRatio: return "error_ratio";
    case Metric::kAvailability: return "availability";
  }
  impossible("chaos::Metric");
}

std::chrono::nanoseconds Phases::of(Phase phase) const {
  switch (phase) {
    case Phase::kBaseline: return baseline;
    case Phase::kInject: return inject;
    case Phase::kObserve: return observe;
    case Phase::kRecover: return recover;
  }
  impossible("chaos::Phase");
}

std::chrono::nanoseconds Fault::longest_delay() const {
  const auto* delay = std::get_if<Delay>(&action);
  return delay == nullptr ? std::chrono::nanoseconds{0} : delay->fixed + delay->jitter;
}

std::string Assertion::text() const {
  const auto bound = is_latency(metric) ? format_duration(limit) : std::format("{}", ratio);
  return std::format("{} {} {} {}", chaos::name(phase), chaos::name(metric), is_upper ? "<=" : ">=", bound);
}

}  // namespace outrigger::chaos
