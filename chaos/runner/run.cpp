#include "chaos/runner/run.h"

#include <algorithm>
#include <csignal>
#include <format>

#include <nlohmann/json.hpp>

#include "chaos/runner/armed_faults.h"
#include "chaos/runner/load_session.h"
#include "chaos/runner/timing.h"
#include "chaos/runner/watch.h"
#include "lib/runtime/duration.h"

namespace outrigger::chaos {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kLongestWait{100};   // how soon a signal or a guardrail is noticed
constexpr milliseconds kPollInterval{500};  // of the hits

class Run {
 public:
  Run(const Scenario& scenario, const std::string& run_id, Journal& journal, const Environment& environment)
      : scenario_(scenario), journal_(journal), environment_(environment) {
    report_.run_id = run_id;
    report_.journal = journal.path();
    for (const auto& guardrail : scenario.guardrails) {
      watches_.emplace_back(guardrail);
    }
  }

  RunReport go() {
    report_.started = wall_now();
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
    for (const auto& [key, value] : scenario_.parameters) {
      parameters[key] = value;
    }
    if (const auto begun = journal_.append("start", {{"scenario", scenario_.name}, {"file", scenario_.file}, {"parameters", parameters}}); !begun) {
      report_.evidence.refusals.push_back(begun.error().to_string());
    } else {
      report_.plan = make_plan(scenario_, report_.run_id, environment_);
      report_.evidence.refusals = report_.plan.refusals();
    }
    if (report_.evidence.refusals.empty()) {
      act();
    }
    report_.decision = decide(report_.evidence);
    report_.ended = wall_now();
    const auto ended = journal_.append("end", {{"verdict", name(report_.decision.verdict)},
                                               {"exit_code", static_cast<int>(report_.decision.verdict)},
                                               {"reasons", report_.decision.reasons}});
    if (!ended) {
      environment_.progress(ended.error().to_string());
    }
    if (journal_.lost() > 0) {
      environment_.progress(std::format("{}: {} entries could not be written", journal_.path(), journal_.lost()));
    }
    return std::move(report_);
  }

 private:
  void act() {
    LoadSession load(scenario_, report_.plan.connections, report_.run_id);
    ArmedFaults faults(scenario_, report_.run_id, environment_, journal_);
    if (pass(Phase::kBaseline, load, faults) && is_steady() && arm(faults)) {
      pass(Phase::kInject, load, faults);
    }
    report_.evidence.leftovers = faults.revert();
    const bool goes_on = !is_stopped() && report_.evidence.leftovers.empty();
    if (goes_on && pass(Phase::kObserve, load, faults) && pass(Phase::kRecover, load, faults)) {
      check_recovery();
    }
    report_.load = load.finish();
    report_.validity = load::judge(*report_.load);
    measure(faults);
    if (!is_stopped()) {
      judge_all();
    }
  }

  [[nodiscard]] bool is_stopped() const { return !report_.evidence.aborts.empty() || !report_.evidence.refusals.empty(); }

  /// Lets a phase go by; false when the run must stop.
  bool pass(Phase phase, const LoadSession& load, ArmedFaults& faults) {
    const auto length = scenario_.phases.of(phase);
    if (length <= nanoseconds{0}) {
      return true;
    }
    environment_.progress(std::format("{}: {}", name(phase), format_duration(length)));
    if (const auto written = journal_.append("phase", {{"phase", name(phase)}}); !written) {
      report_.evidence.aborts.push_back(written.error().to_string());
      return false;
    }
    PhaseSpan span{.phase = phase, .from = load.elapsed(), .to = {}, .measured = {}};
    auto next_poll = span.from;
    while (!is_stopped() && load.elapsed() < span.from + length) {
      if (phase == Phase::kInject && load.elapsed() >= next_poll) {
        faults.poll();
        next_poll = load.elapsed() + kPollInterval;
      }
      const auto left = std::chrono::ceil<milliseconds>(span.from + length - load.elapsed());
      if (const auto signal = environment_.wait_for_stop(std::clamp(left, milliseconds{0}, kLongestWait))) {
        report_.evidence.aborts.push_back(std::format("stopped by {} in {}",
                                                      *signal == SIGINT    ? "SIGINT"
                                                      : *signal == SIGTERM ? "SIGTERM"
                                                                           : "a signal",
                                                      name(phase)));
      }
      watch(phase, load);
    }
    span.to = load.elapsed();
    report_.phases.push_back(std::move(span));
    return !is_stopped();
  }

  void watch(Phase phase, const LoadSession& load) {
    const auto totals = load.totals();
    for (auto& guardrail : watches_) {
      if (const auto breach = guardrail.see(load.elapsed(), totals.sent, totals.failed); breach && !is_stopped()) {
        journal_.note("guardrail", {{"phase", name(phase)}, {"breach", *breach}});
        // Before anything is injected there is nothing to abort: the system was not in its steady state.
        (phase == Phase::kBaseline ? report_.evidence.refusals : report_.evidence.aborts).push_back(*breach);
      }
    }
  }

  std::vector<std::string> unmet_probes() const {
    std::vector<std::string> unmet;
    for (const auto& probe : scenario_.probes) {
      if (const auto met = environment_.check_probe(probe); !met) {
        unmet.push_back(std::format("probe {}: {}", probe.id, met.error().to_string()));
      }
    }
    return unmet;
  }

  bool is_steady() {
    for (const auto& problem : unmet_probes()) {
      report_.evidence.refusals.push_back("no steady state after the baseline: " + problem);
    }
    return !is_stopped();
  }

  bool arm(ArmedFaults& faults) {
    if (const auto applied = faults.apply(); !applied) {
      report_.evidence.aborts.push_back(applied.error().to_string());
    }
    return !is_stopped();
  }

  void check_recovery() {
    for (const auto& problem : unmet_probes()) {
      report_.evidence.failures.push_back("the system did not recover: " + problem);
    }
  }

  [[nodiscard]] const PhaseSpan* span_of(Phase phase) const {
    const auto found = std::ranges::find(report_.phases, phase, &PhaseSpan::phase);
    return found == report_.phases.end() ? nullptr : &*found;
  }

  void measure(const ArmedFaults& faults) {
    const auto margin = window_length(scenario_);
    for (auto& span : report_.phases) {
      span.measured = report_.load->measured.between(span.from + margin, span.to - margin);
    }
    const auto* baseline = span_of(Phase::kBaseline);
    const auto* inject = span_of(Phase::kInject);
    const auto shift = baseline != nullptr && inject != nullptr
                           ? inject->measured.from_intended.quantile(0.5) - baseline->measured.from_intended.quantile(0.5)
                           : nanoseconds{0};
    for (const auto& progress : faults.progress()) {
      const auto* delay = std::get_if<Delay>(&progress.fault->action);
      report_.doses.push_back({.fault = progress.fault->id,
                               .hits = progress.hits,
                               .min_hits = progress.fault->proof.min_hits,
                               .is_lost = progress.is_lost,
                               .requested_delay = delay == nullptr ? nanoseconds{0} : delay->fixed,
                               .shift = shift,
                               .proof = progress.fault->proof});
    }
  }

  void judge_all() {
    auto& evidence = report_.evidence;
    evidence.doubts = report_.validity.reasons;
    if (const auto* baseline = span_of(Phase::kBaseline)) {
      const auto margin = window_length(scenario_);
      const auto middle = (baseline->from + baseline->to) / 2;
      const auto& measured = report_.load->measured;
      std::ranges::copy(baseline_doubts(measured.between(baseline->from + margin, middle), measured.between(middle, baseline->to - margin)),
                        std::back_inserter(evidence.doubts));
    }
    for (const auto& dose : report_.doses) {
      std::ranges::copy(doubts_of(dose), std::back_inserter(evidence.doubts));
    }
    const auto secondary = std::max<std::size_t>(1, scenario_.assertions.size() - 1);
    for (const auto& assertion : scenario_.assertions) {
      if (const auto* span = span_of(assertion.phase)) {
        evidence.assertions.push_back(judge(assertion, span->measured, assertion.primary ? kAlpha : kAlpha / static_cast<double>(secondary)));
      }
    }
    if (evidence.assertions.size() != scenario_.assertions.size()) {
      evidence.doubts.emplace_back("a phase of an assertion did not take place");
    }
  }

  const Scenario& scenario_;
  Journal& journal_;
  const Environment& environment_;
  std::vector<GuardrailWatch> watches_;
  RunReport report_;
};

}  // namespace

RunReport run(const Scenario& scenario, const std::string& run_id, Journal& journal, const Environment& environment) {
  return Run(scenario, run_id, journal, environment).go();
}

}  // namespace outrigger::chaos
