#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slo/rules/rule_file.h"
#include "slo/spec/slo.h"

namespace outrigger::slo {

/// Where `runbook_url` points, followed by the alert's name and ".md": a folder of this repository; deployments put their own URL before it.
inline constexpr std::string_view kRunbooks = "docs/runbooks/";

/// The rules of one SLO.
///
/// Recorded with the labels slo and service:
///   slo:events_total:increaseW, slo:events_bad:increaseW   events in the window W (5m 30m 1h 2h 6h 1d 3d and the period)
///   slo:error_ratio:increaseW                              bad / total, weighted by events; no sample without traffic
///   slo:objective:ratio, slo:error_budget:ratio            the target and what it leaves
///   slo:error_budget_remaining:ratio                       1 - spent share of the budget in the period; no sample without traffic
/// Windows of a day and more sum the recorded 5m increases, which is cheap, keeps the weights and survives counter resets.
///
/// Alerts: SLOErrorBudgetBurn once a burn rate, and SLOIndicatorAbsent when the total is not measured at all.
struct Generated {
  std::vector<RuleGroup> groups;
  std::vector<std::string> warnings;  ///< e.g. a burn rate that this target can never reach
};
[[nodiscard]] Generated generate_rules(const Slo& slo, std::string_view runbooks = kRunbooks);

/// The name of an SLO's rule file, without a folder: "slo-NAME.yaml".
[[nodiscard]] std::string rule_file_name(const Slo& slo);
[[nodiscard]] std::string test_file_name(const Slo& slo);  ///< "slo-NAME_test.yaml"

}  // namespace outrigger::slo
