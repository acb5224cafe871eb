#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outrigger::slo {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// One recording or alerting rule of Prometheus.
struct Rule {
  std::string record;  ///< exactly one of record and alert
  std::string alert;
  std::string expr;
  std::string hold;  ///< `for` of an alert; empty: at once
  Pairs labels;
  Pairs annotations;
};

struct RuleGroup {
  std::string name;
  std::string interval;  ///< empty: Prometheus' own
  std::vector<Rule> rules;
};

/// A Prometheus rule file. `remark` becomes a comment at its head. Pure, stable.
[[nodiscard]] std::string to_yaml(const std::vector<RuleGroup>& groups, std::string_view remark);

/// A double-quoted YAML scalar.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

}  // namespace outrigger::slo
