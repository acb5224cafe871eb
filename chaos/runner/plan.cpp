#include "chaos/runner/plan.h"

#include <algorithm>
#include <cmath>
#include <format>

#include "chaos/runner/evidence.h"
#include "chaos/runner/timing.h"
#include "lib/runtime/duration.h"

namespace outrigger::chaos {
namespace {

using std::chrono::nanoseconds;

double seconds(nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

nanoseconds longest_delay(const Scenario& scenario) {
  nanoseconds sum{0};
  for (const auto& fault : scenario.faults) {
    sum = std::max(sum, fault.longest_delay());  // of several delays the sidecar applies one
  }
  return sum;
}

/// Requests under way at once while they are delayed (Little's law), without the time that the service itself takes.
double held_up(const Scenario& scenario) { return scenario.load.rate.per_second() * seconds(longest_delay(scenario)); }

unsigned default_connections(const Scenario& scenario) {
  constexpr double kService = 0.25;  // seconds that an answer may take of itself
  const double needed = 2 * (held_up(scenario) + scenario.load.rate.per_second() * kService);
  return static_cast<unsigned>(std::clamp(std::ceil(needed), 8.0, 1024.0));
}

Check check_fault(const Fault& fault, const std::string& id, FaultDriver& driver) {
  Check check{.subject = "fault " + fault.id, .ok = false, .detail = {}};
  if (const auto accepted = driver.check(id, fault); !accepted) {
    const auto& error = accepted.error();
    const bool is_off = error.code == ErrorCode::kFailedPrecondition;
    const bool is_silent = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDeadlineExceeded;
    check.detail = error.to_string() + (is_off      ? ": faults must be enabled at the sidecar, and it must not be draining"
                                        : is_silent ? ": is the sidecar running, and is this its admin socket?"
                                                    : "");
    return check;
  }
  const auto armed = driver.armed();
  if (!armed) {
    check.detail = armed.error().to_string();
  } else if (!armed->empty()) {
    check.detail =
        std::format("{}: the fault {} is armed already and would disturb the run: delete it or wait until it ends", fault.admin, armed->front().id);
  } else {
    check.ok = true;
    check.detail = std::format("{} would take it as {} for at most {}", fault.admin, id, format_duration(fault.ttl));
  }
  return check;
}

Check check_hits(const Scenario& scenario, const Fault& fault) {
  const double most = scenario.load.rate.per_second() * seconds(scenario.phases.inject) * fault.trigger.percent_ppm / 1e6;
  const bool ok = static_cast<double>(fault.proof.min_hits) <= most;
  return {"dose of " + fault.id, ok,
          ok ? std::format("about {:.0f} hits possible, {} needed", most, fault.proof.min_hits)
             : std::format("the load gives about {:.0f} hits, {} needed: raise the rate, lengthen inject or lower proof.min_hits", most,
                           fault.proof.min_hits)};
}

Check check_connections(const Scenario& scenario, unsigned connections) {
  const double held = held_up(scenario);
  const bool ok = held <= connections;
  return {"load", ok,
          ok ? std::format("{} to {}{} on {} connections for {}", load::format_rate(scenario.load.rate), scenario.load.request.url.origin,
                           scenario.load.request.url.target, connections, format_duration(scenario.phases.total()))
             : std::format(
                   "{:.0f} requests wait at once while they are delayed, {} connections cannot hold them: raise load.connections or lower the rate",
                   held, connections)};
}

Check check_samples(const Scenario& scenario, const Assertion& assertion) {
  const auto length = measured_length(scenario, assertion.phase);
  const auto expected = static_cast<std::uint64_t>(std::max(0.0, std::floor(scenario.load.rate.per_second() * seconds(length))));
  const auto needed = needed_samples(assertion);
  const bool ok = expected >= needed;
  return {
      "assertion " + assertion.id, ok,
      ok ? std::format("{}: about {} samples, {} needed", assertion.text(), expected, needed)
         : std::format("{}: about {} samples, {} needed: raise the rate or lengthen {}", assertion.text(), expected, needed, name(assertion.phase))};
}

}  // namespace

bool Plan::is_feasible() const { return std::ranges::all_of(checks, &Check::ok); }

std::vector<std::string> Plan::refusals() const {
  std::vector<std::string> texts;
  for (const auto& check : checks) {
    if (!check.ok) {
      texts.push_back(check.subject + ": " + check.detail);
    }
  }
  return texts;
}

Plan make_plan(const Scenario& scenario, const std::string& run_id, const Environment& environment) {
  Plan plan{
      .run_id = run_id, .connections = scenario.load.connections == 0 ? default_connections(scenario) : scenario.load.connections, .checks = {}};
  for (const auto& fault : scenario.faults) {
    const auto driver = environment.make_driver(fault.driver, fault.admin);
    plan.checks.push_back(check_fault(fault, armed_id(run_id, fault), *driver));
    plan.checks.push_back(check_hits(scenario, fault));
  }
  for (const auto& probe : scenario.probes) {
    const auto met = environment.check_probe(probe);
    plan.checks.push_back({"probe " + probe.id, met.has_value(),
                           met ? std::format("{}{} answers {}", probe.url.origin, probe.url.target, probe.status) : met.error().to_string()});
  }
  plan.checks.push_back(check_connections(scenario, plan.connections));
  for (const auto& assertion : scenario.assertions) {
    plan.checks.push_back(check_samples(scenario, assertion));
  }
  return plan;
}

}  // namespace outrigger::chaos
