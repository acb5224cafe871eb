#include <format>

#include "chaos/report/report.h"
#include "lib/load/report.h"
#include "lib/runtime/duration.h"

namespace outrigger::chaos {
namespace {

std::string checks_text(const Plan& plan) {
  std::string out;
  for (const auto& check : plan.checks) {
    out += std::format("  {:<7} {}: {}\n", check.ok ? "ok" : "REFUSED", check.subject, check.detail);
  }
  return out;
}

std::string measured(const AssertionResult& result) {
  if (result.n == 0) {
    return "nothing";
  }
  return result.is_latency ? load::readable(std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double>(result.measured)))
                           : std::format("{:.5g}", result.measured);
}

std::string phases_text(const RunReport& report) {
  std::string out = std::format("\n{:<10}{:>9}{:>9}{:>8}{:>9}{:>10}{:>10}\n", "PHASE", "LENGTH", "SAMPLES", "FAILED", "DROPPED", "P50", "P99");
  for (const auto& span : report.phases) {
    const auto& latencies = span.measured.from_intended;
    out +=
        std::format("{:<10}{:>9}{:>9}{:>8}{:>9}{:>10}{:>10}\n", name(span.phase), load::readable(span.to - span.from), span.measured.sent,
                    span.measured.failed(), span.measured.dropped, load::readable(latencies.quantile(0.5)), load::readable(latencies.quantile(0.99)));
  }
  return out;
}

std::string dose_text(const Dose& dose) {
  auto out = std::format("dose {}: {} hits ({} needed)", dose.fault, dose.hits, dose.min_hits);
  if (dose.requested_delay.count() > 0) {
    out += std::format(", delay {} requested, P50 moved by {}", format_duration(dose.requested_delay), load::readable(dose.shift));
  }
  return out + (doubts_of(dose).empty() ? ": proven\n" : ": NOT PROVEN\n");
}

}  // namespace

std::string to_text(const Scenario& scenario, const Plan& plan) {
  return std::format(
      "plan of {} ({})\n{}{}", scenario.name, scenario.file, checks_text(plan),
      plan.is_feasible() ? "feasible: nothing was injected; `outrigger chaos run --execute` does it\n" : "REFUSED: nothing was injected\n");
}

std::string to_text(const Scenario& scenario, const RunReport& report) {
  auto out = std::format("run {} of {}\n{}", report.run_id, scenario.name, report.load ? "" : checks_text(report.plan));
  if (report.load) {
    out += phases_text(report);
    out += std::format("\nload {}: {} offered, {:.2f} % achieved, {:.3f} % dropped, CPU {:.0f} %: {}\n", report.load->target,
                       load::format_rate(report.load->rate), report.validity.achieved_ratio * 100, report.validity.dropped_ratio * 100,
                       report.load->cpu_ratio * 100, report.validity.valid() ? "valid" : "NOT VALID");
    for (const auto& dose : report.doses) {
      out += dose_text(dose);
    }
  }
  for (const auto& result : report.evidence.assertions) {
    out += std::format("assertion {}{}: {}: measured {}, n={}, {} beyond the limit: {}\n", result.id, result.primary ? " (primary)" : "", result.text,
                       measured(result), result.n, result.bad, name(result.finding));
  }
  out += std::format("journal {}\n", report.journal);
  for (const auto& reason : report.decision.reasons) {
    out += "  because: " + reason + "\n";
  }
  return out + std::format("verdict: {} (exit {})\n", name(report.decision.verdict), static_cast<int>(report.decision.verdict));
}

std::string to_text(const Recovery& recovery) {
  auto out = std::format("run {} of {}{}\n", recovery.run_id, recovery.scenario, recovery.was_interrupted ? ", interrupted" : "");
  for (const auto& id : recovery.ended) {
    out += std::format("  {}: ended now\n", id);
  }
  for (const auto& id : recovery.absent) {
    out += std::format("  {}: was gone already\n", id);
  }
  for (const auto& reason : recovery.decision.reasons) {
    out += std::format("  {}\n", reason);
  }
  if (recovery.decision.verdict != Verdict::kPass) {
    return out + "clean-up INCOMPLETE: repeat it when the target answers (exit 6)\n";
  }
  return out + (recovery.ended.empty() && recovery.absent.empty() ? "nothing to do: every fault of this run is known to be gone\n" : "clean\n");
}

}  // namespace outrigger::chaos
