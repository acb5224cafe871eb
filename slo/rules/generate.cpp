#include "slo/rules/generate.h"

#include <array>
#include <format>

#include "lib/runtime/duration.h"
#include "slo/rules/burn.h"

namespace outrigger::slo {
namespace {

constexpr std::array kShortWindows{"5m", "30m", "1h", "2h", "6h"};
constexpr std::array kLongWindows{"1d", "3d"};

std::string identity(const Slo& slo) { return std::format("{{service=\"{}\",slo=\"{}\"}}", slo.service, slo.name); }

std::string increase(const Selector& selector, std::string_view window) { return std::format("sum(increase({}[{}]))", selector.to_string(), window); }

/// Bad events of a window. Without traffic there are none to speak of, so the result is empty then, never 0; a counter of bad events
/// that does not exist yet counts as 0 as long as there is traffic.
std::string bad_events(const Slo& slo, std::string_view window) {
  const auto total = increase(slo.total, window);
  if (slo.bad) {
    return std::format("{} or 0 * {}", increase(*slo.bad, window), total);
  }
  return std::format("clamp_min({} - ({} or 0 * {}), 0)", total, increase(*slo.good, window), total);
}

Rule record(const Slo& slo, std::string name, std::string expr) {
  return {.record = std::move(name),
          .alert = {},
          .expr = std::move(expr),
          .hold = {},
          .labels = {{"service", slo.service}, {"slo", slo.name}},
          .annotations = {}};
}

Rule error_ratio(const Slo& slo, std::string_view window) {
  return record(slo, std::format("slo:error_ratio:increase{}", window),
                std::format("slo:events_bad:increase{0}{1} / (slo:events_total:increase{0}{1} > 0)", window, identity(slo)));
}

RuleGroup short_windows(const Slo& slo) {
  RuleGroup group{std::format("slo-{}-windows", slo.name), "30s", {}};
  for (const auto* window : kShortWindows) {
    group.rules.push_back(record(slo, std::format("slo:events_total:increase{}", window), increase(slo.total, window)));
    group.rules.push_back(record(slo, std::format("slo:events_bad:increase{}", window), bad_events(slo, window)));
    group.rules.push_back(error_ratio(slo, window));
  }
  return group;
}

RuleGroup long_windows(const Slo& slo) {
  RuleGroup group{std::format("slo-{}-period", slo.name), "2m", {}};
  const auto period = format_duration(slo.period);
  const auto add = [&](std::string_view window) {
    for (const auto* kind : {"total", "bad"}) {
      group.rules.push_back(record(slo, std::format("slo:events_{}:increase{}", kind, window),
                                   std::format("sum_over_time(slo:events_{}:increase5m{}[{}:5m])", kind, identity(slo), window)));
    }
    group.rules.push_back(error_ratio(slo, window));
  };
  for (const auto* window : kLongWindows) {
    if (period != window) {
      add(window);
    }
  }
  add(period);
  group.rules.push_back(record(slo, "slo:objective:ratio", std::format("vector({})", slo.target.to_string())));
  group.rules.push_back(record(slo, "slo:error_budget:ratio", std::format("vector({})", slo.budget().to_string())));
  group.rules.push_back(record(slo, "slo:error_budget_remaining:ratio",
                               std::format("1 - slo:error_ratio:increase{}{} / {}", period, identity(slo), slo.budget().to_string())));
  return group;
}

Pairs alert_labels(const Slo& slo, std::string_view severity) {
  return {{"severity", std::string(severity)}, {"service", slo.service}, {"component", slo.component}, {"slo", slo.name}};
}

Pairs annotations(const Slo& slo, std::string_view runbooks, std::string_view alert, std::string summary, std::string description) {
  Pairs pairs{{"summary", std::move(summary)}, {"description", std::move(description)}, {"runbook_url", std::format("{}{}.md", runbooks, alert)}};
  if (!slo.dashboard_url.empty()) {
    pairs.emplace_back("dashboard_url", slo.dashboard_url);
  }
  return pairs;
}

/// How long a whole budget lasts at this rate.
std::string exhaustion(const BurnRate& rate, const Slo& slo) {
  const auto hours = std::chrono::duration<double, std::ratio<3600>>(slo.period).count() / rate.factor.to_double();
  return hours < 72 ? std::format("{:.0f} hours", hours) : std::format("{:.0f} days", hours / 24);
}

Rule burn_alert(const Slo& slo, const BurnRate& rate, std::string_view runbooks) {
  const auto limit = threshold(rate, slo).to_string();
  const auto labels = identity(slo);
  Rule rule;
  rule.alert = "SLOErrorBudgetBurn";
  rule.expr = std::format(
      "slo:error_ratio:increase{0}{2} >= {3}\n"
      "and slo:error_ratio:increase{1}{2} >= {3}\n"
      "and slo:events_bad:increase{0}{2} >= {4}",
      rate.long_window, rate.short_window, labels, limit, slo.min_bad_events);
  rule.labels = alert_labels(slo, rate.severity);
  rule.labels.emplace_back("burn_rate", rate.factor.to_string());
  rule.annotations = annotations(
      slo, runbooks, rule.alert, std::format("{}: the error budget burns {} times too fast", slo.display_name, rate.factor.to_string()),
      std::format(
          "{{{{ $value | humanizePercentage }}}} of the events of the last {} were bad; {} % may be over {}. At this rate the whole budget is gone "
          "in at most {}.",
          rate.long_window, slo.budget().to_percent().to_string(), format_duration(slo.period), exhaustion(rate, slo)));
  return rule;
}

Rule absent_alert(const Slo& slo, std::string_view runbooks) {
  Rule rule;
  rule.alert = "SLOIndicatorAbsent";
  // Without sum(), absent() would add the selector's labels to the alert's own.
  rule.expr = std::format("absent(sum({}))", slo.total.to_string());
  rule.hold = "10m";
  rule.labels = alert_labels(slo, "warning");
  rule.annotations =
      annotations(slo, runbooks, rule.alert, std::format("{}: nothing is measured", slo.display_name),
                  std::format("No series matches {} for 10 minutes, so nobody knows whether the objective is met.", slo.total.to_string()));
  return rule;
}

}  // namespace

Generated generate_rules(const Slo& slo, std::string_view runbooks) {
  Generated generated;
  RuleGroup alerts{std::format("slo-{}-alerts", slo.name), "30s", {}};
  for (const auto& rate : burn_rates()) {
    if (is_reachable(rate, slo)) {
      alerts.rules.push_back(burn_alert(slo, rate, runbooks));
    } else {
      generated.warnings.push_back(std::format("{}: with a target of {} not even a total outage burns {} times too fast; that alert is left out",
                                               slo.name, slo.target.to_string(), rate.factor.to_string()));
    }
  }
  alerts.rules.push_back(absent_alert(slo, runbooks));
  generated.groups = {short_windows(slo), long_windows(slo), std::move(alerts)};
  return generated;
}

std::string rule_file_name(const Slo& slo) { return std::format("slo-{}.yaml", slo.name); }

std::string test_file_name(const Slo& slo) { return std::format("slo-{}_test.yaml", slo.name); }

}  // namespace outrigger::slo
