#include "chaos/report/report.h"

#include <format>

#include <nlohmann/json.hpp>

namespace outrigger::chaos {
namespace {

using Json = nlohmann::ordered_json;

double seconds(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

Json object(const Texts& texts) {
  Json out = Json::object();
  for (const auto& [key, value] : texts) {
    out[key] = value;
  }
  return out;
}

Json scenario_json(const Scenario& scenario) {
  return {{"name", scenario.name},
          {"file", scenario.file},
          {"description", scenario.description},
          {"labels", object(scenario.labels)},
          {"parameters", object(scenario.parameters)}};
}

Json checks_json(const Plan& plan) {
  Json checks = Json::array();
  for (const auto& check : plan.checks) {
    checks.push_back({{"subject", check.subject}, {"ok", check.ok}, {"detail", check.detail}});
  }
  return checks;
}

Json phase_json(const PhaseSpan& span) {
  const auto& window = span.measured;
  const auto& latencies = window.from_intended;
  return {{"phase", name(span.phase)},
          {"from_seconds", seconds(span.from)},
          {"to_seconds", seconds(span.to)},
          {"samples", window.sent},
          {"failed", window.failed()},
          {"dropped", window.dropped},
          {"p50_seconds", latencies.count() == 0 ? Json() : Json(seconds(latencies.quantile(0.5)))},
          {"p99_seconds", latencies.count() == 0 ? Json() : Json(seconds(latencies.quantile(0.99)))}};
}

Json load_json(const load::Summary& load, const load::Validity& validity) {
  Json statuses = Json::object();
  for (const auto& [status, count] : load.measured.statuses) {
    statuses[std::to_string(status)] = count;
  }
  return {{"target", load.target},
          {"offered_per_second", load.rate.per_second()},
          {"offered", load.offered},
          {"sent", load.measured.all.sent},
          {"achieved_ratio", validity.achieved_ratio},
          {"dropped_ratio", validity.dropped_ratio},
          {"cpu_ratio", load.cpu_ratio},
          {"statuses", statuses},
          {"valid", validity.valid()}};
}

Json dose_json(const Dose& dose) {
  return {{"fault", dose.fault},
          {"hits", dose.hits},
          {"min_hits", dose.min_hits},
          {"lost", dose.is_lost},
          {"requested_delay_seconds", seconds(dose.requested_delay)},
          {"p50_shift_seconds", seconds(dose.shift)},
          {"proven", doubts_of(dose).empty()}};
}

Json assertion_json(const AssertionResult& result) {
  return {{"id", result.id},
          {"primary", result.primary},
          {"assertion", result.text},
          {"measured", result.n == 0 ? Json() : Json(result.measured)},
          {"n", result.n},
          {"beyond_limit", result.bad},
          {"allowed_share", result.allowed},
          {"min_samples", result.min_samples},
          {"finding", name(result.finding)}};
}

template <class Items, class Write>
Json list(const Items& items, Write&& write) {
  Json out = Json::array();
  for (const auto& item : items) {
    out.push_back(write(item));
  }
  return out;
}

std::string time_text(WallTime time) { return std::format("{:%FT%TZ}", time); }

}  // namespace

Json to_json(const Scenario& scenario, const Plan& plan) {
  return {{"scenario", scenario_json(scenario)}, {"feasible", plan.is_feasible()}, {"connections", plan.connections}, {"checks", checks_json(plan)}};
}

Json to_json(const Scenario& scenario, const RunReport& report) {
  Json out{{"run", report.run_id},
           {"scenario", scenario_json(scenario)},
           {"started", time_text(report.started)},
           {"ended", time_text(report.ended)},
           {"journal", report.journal},
           {"verdict", name(report.decision.verdict)},
           {"exit_code", static_cast<int>(report.decision.verdict)},
           {"reasons", report.decision.reasons},
           {"confidence", 1 - kAlpha},
           {"checks", checks_json(report.plan)}};
  out["load"] = report.load ? load_json(*report.load, report.validity) : Json();
  out["phases"] = list(report.phases, phase_json);
  out["doses"] = list(report.doses, dose_json);
  out["assertions"] = list(report.evidence.assertions, assertion_json);
  return out;
}

Json to_json(const Recovery& recovery) {
  return {{"run", recovery.run_id},
          {"scenario", recovery.scenario},
          {"interrupted", recovery.was_interrupted},
          {"ended", recovery.ended},
          {"absent", recovery.absent},
          {"exit_code", static_cast<int>(recovery.decision.verdict)},
          {"reasons", recovery.decision.reasons}};
}

}  // namespace outrigger::chaos
