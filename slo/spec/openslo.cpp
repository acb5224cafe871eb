#include "slo/spec/openslo.h"

#include <algorithm>
#include <charconv>
#include <format>

#include "lib/runtime/duration.h"
#include "lib/yaml/reader.h"

namespace outrigger::slo {
namespace {

using yaml::Mapping;
using yaml::Node;
using yaml::Problems;

constexpr std::size_t kLongestName = 63;

/// Letters, digits and '-', with a letter or digit at both ends: what Kubernetes, file names and labels all take.
bool is_dns_label(std::string_view text) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && is_plain(text.front()) && is_plain(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return is_plain(c) || c == '-'; });
}

std::string read_name(Mapping& map, const Node& parent) {
  const auto name = map.require_text("name");
  if (!name.empty() && (name.size() > kLongestName || !is_dns_label(name))) {
    map.problem(*parent.find("name"),
                std::format("name: '{}' must be at most {} of a-z, 0-9 and '-', beginning and ending with a letter or digit", name, kLongestName));
  }
  return name;
}

void read_metadata(const Node* node, Slo& slo, Problems& problems) {
  if (node == nullptr) {
    return;
  }
  Mapping map(*node, problems, "metadata");
  slo.name = read_name(map, *node);
  slo.display_name = map.get_text("displayName", slo.name);
  map.get_map("labels");
  if (const auto* annotations = map.find("annotations")) {
    Mapping own(*annotations, problems, "annotations");
    slo.component = own.get_text("outrigger.dev/component");
    slo.dashboard_url = own.get_text("outrigger.dev/dashboard-url");
    if (const auto text = own.get_text("outrigger.dev/min-bad-events"); !text.empty()) {
      const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), slo.min_bad_events);
      if (wrong != std::errc{} || end != text.data() + text.size() || slo.min_bad_events == 0) {
        own.problem(*annotations->find("outrigger.dev/min-bad-events"), std::format("'{}' is not a whole number of at least 1", text));
      }
    }
    // Annotations of other tools are theirs.
    for (const auto& [key, value] : annotations->entries) {
      if (!key.starts_with("outrigger.dev/")) {
        own.allow(key);
      }
    }
    own.finish();
  }
  map.finish();
}

std::optional<Selector> read_metric(Mapping& ratio, std::string_view key, Problems& problems) {
  const auto* node = ratio.find(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  Mapping metric(*node, problems, std::string(key));
  std::optional<Selector> selector;
  if (const auto* source_node = metric.require("metricSource")) {
    Mapping source(*source_node, problems, "metricSource");
    source.get_choice("type", "Prometheus", {"Prometheus"});
    if (source_node->find("metricSourceRef") != nullptr) {
      source.problem(*source.find("metricSourceRef"), "metricSourceRef is not supported: write the query inline");
    }
    if (const auto* spec_node = source.require("spec")) {
      Mapping spec(*spec_node, problems, "metricSource.spec");
      const auto query = spec.require_text("query");
      if (!query.empty()) {
        if (auto parsed = parse_selector(query)) {
          selector = std::move(*parsed);
        } else {
          spec.problem(*spec_node->find("query"), "query: " + parsed.error().message);
        }
      }
      spec.finish();
    }
    source.finish();
  }
  metric.finish();
  return selector;
}

void read_indicator(const Node* node, Slo& slo, Problems& problems) {
  if (node == nullptr) {
    return;
  }
  Mapping indicator(*node, problems, "indicator");
  if (const auto* metadata = indicator.find("metadata")) {
    Mapping map(*metadata, problems, "indicator.metadata");
    read_name(map, *metadata);
    map.get_text("displayName");
    map.finish();
  }
  if (const auto* spec_node = indicator.require("spec")) {
    Mapping spec(*spec_node, problems, "indicator.spec");
    spec.get_text("description");
    if (const auto* threshold = spec.find("thresholdMetric")) {
      spec.problem(*threshold,
                   "thresholdMetric is not supported: count good events with a histogram bucket, ratioMetric.good: …_bucket{le=\"0.12\"}");
    } else if (const auto* ratio_node = spec.require("ratioMetric")) {
      Mapping ratio(*ratio_node, problems, "ratioMetric");
      if (!ratio.get_boolean("counter", false)) {
        ratio.problem(*ratio_node, "ratioMetric.counter must be true: only counters are supported, gauges lose events between scrapes");
      }
      slo.good = read_metric(ratio, "good", problems);
      slo.bad = read_metric(ratio, "bad", problems);
      if ((ratio_node->find("good") == nullptr) == (ratio_node->find("bad") == nullptr)) {
        ratio.problem(*ratio_node, "ratioMetric needs exactly one of good and bad");
      }
      if (ratio.require("total") != nullptr) {
        slo.total = read_metric(ratio, "total", problems).value_or(Selector{});
      }
      ratio.finish();
    }
    spec.finish();
  }
  indicator.finish();
}

void read_time_window(const Node* node, Slo& slo, Problems& problems) {
  if (node == nullptr) {
    return;
  }
  if (node->kind != Node::Kind::kSequence || node->items.size() != 1) {
    problems.add(node->where(), "timeWindow must be a list with exactly one window");
    return;
  }
  Mapping window(node->items[0], problems, "timeWindow");
  slo.period = window.require_duration("duration");
  if (!window.get_boolean("isRolling", false)) {
    window.problem(node->items[0], "timeWindow.isRolling must be true: calendar windows are not supported");
  }
  const auto days = std::chrono::duration_cast<std::chrono::days>(slo.period);
  if (slo.period != days || days.count() < 1 || days.count() > 90) {
    window.problem(node->items[0], std::format("timeWindow.duration {} must be whole days, 1d to 90d", format_duration(slo.period)));
  }
  window.finish();
}

Decimal read_target(Mapping& objective, const Node& node) {
  const auto* target = objective.find("target");
  const auto* percent = objective.find("targetPercent");
  if ((target == nullptr) == (percent == nullptr)) {
    objective.problem(node, "an objective needs exactly one of target (0.99995) and targetPercent (99.995)");
    return {};
  }
  const auto& value = target != nullptr ? *target : *percent;
  auto decimal = Decimal::parse(value.scalar);
  if (decimal && percent != nullptr) {
    decimal = decimal->from_percent();
  }
  if (!decimal) {
    objective.problem(value, decimal.error().message);
  } else if (*decimal <= Decimal{} || *decimal >= Decimal::of(1, 0)) {
    objective.problem(value, std::format("a target of {} leaves {}: it must lie above 0 and below 1 (0 % and 100 %)", decimal->to_string(),
                                         *decimal >= Decimal::of(1, 0) ? "no budget" : "nothing to hold"));
  } else {
    return *decimal;
  }
  return {};
}

std::vector<Slo> read_objectives(const Node* node, const Slo& common, Problems& problems) {
  std::vector<Slo> found;
  if (node == nullptr) {
    return found;
  }
  if (node->kind != Node::Kind::kSequence || node->items.empty()) {
    problems.add(node->where(), "objectives must be a list with at least one objective");
    return found;
  }
  for (const auto& item : node->items) {
    Mapping objective(item, problems, "objective");
    auto slo = common;
    slo.target = read_target(objective, item);
    slo.display_name = objective.get_text("displayName", common.display_name);
    if (node->items.size() > 1) {
      slo.name += std::format("-{}", found.size() + 1);
    }
    objective.finish();
    found.push_back(std::move(slo));
  }
  return found;
}

}  // namespace

Result<std::vector<Slo>> read_openslo(const Node& document) {
  Problems problems;
  Mapping root(document, problems);
  if (const auto version = root.get_text("apiVersion"); version != "openslo/v1") {
    const auto* at = document.find("apiVersion");
    problems.add((at == nullptr ? document : *at).where(),
                 std::format("apiVersion: expected openslo/v1, found '{}'{}", version,
                             version.contains("v2alpha") ? "; v2alpha calls the indicator sli: rename it and lower the version" : ""));
  }
  root.get_choice("kind", "SLO", {"SLO"});
  Slo common;
  read_metadata(root.require("metadata"), common, problems);
  std::vector<Slo> found;
  if (const auto* spec_node = root.require("spec")) {
    Mapping spec(*spec_node, problems, "spec");
    common.description = spec.get_text("description");
    common.service = spec.require_text("service");
    for (const auto* unsupported : {"indicatorRef", "alertPolicies"}) {
      if (const auto* given = spec.find(unsupported)) {
        spec.problem(*given, std::format("{} is not supported: {}", unsupported,
                                         unsupported == std::string_view("indicatorRef") ? "write the indicator inline"
                                                                                         : "burn-rate alerts are generated for every SLO"));
      }
    }
    spec.get_choice("budgetingMethod", "Occurrences", {"Occurrences"});
    read_indicator(spec.require("indicator"), common, problems);
    read_time_window(spec.find("timeWindow"), common, problems);
    common.component = common.component.empty() ? common.service : common.component;
    found = read_objectives(spec.require("objectives"), common, problems);
    spec.finish();
  }
  root.finish();
  if (auto ok = problems.result(); !ok) {
    return std::unexpected(ok.error());
  }
  return found;
}

Result<std::vector<Slo>> read_openslo_file(const std::string& path) {
  const auto documents = yaml::parse_file_documents(path);
  if (!documents) {
    return std::unexpected(documents.error());
  }
  if (documents->empty()) {
    return fail(ErrorCode::kInvalidArgument, "is empty: an OpenSLO document is expected", path);
  }
  std::vector<Slo> all;
  std::string problems;
  for (const auto& document : *documents) {
    auto read = read_openslo(document);
    if (!read) {
      problems += (problems.empty() ? "" : "\n") + read.error().message;
      continue;
    }
    std::ranges::move(*read, std::back_inserter(all));
  }
  if (!problems.empty()) {
    return fail(ErrorCode::kInvalidArgument, problems);
  }
  return all;
}

}  // namespace outrigger::slo
