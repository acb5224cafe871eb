#include <algorithm>
#include <cmath>
#include <filesystem>
#include <format>
#include <fstream>
#include <functional>
#include <sstream>

#include "chaos/spec/internal/readers.h"
#include "lib/runtime/duration.h"

namespace outrigger::chaos {
namespace {

using std::chrono::nanoseconds;

/// Each item of a sequence; another kind of value is a problem.
void for_items(const yaml::Node* list, std::string_view key, yaml::Problems& problems, const std::function<void(const yaml::Node&)>& use) {
  if (list == nullptr) {
    return;
  }
  if (list->kind != yaml::Node::Kind::kSequence) {
    problems.add(list->where(), std::format("{}: expected a list (lines that begin with '-')", key));
    return;
  }
  std::ranges::for_each(list->items, use);
}

template <class Item>
void check_unique_ids(const std::vector<Item>& items, const yaml::Node* list, std::string_view key, yaml::Problems& problems) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (std::ranges::find(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(i), items[i].id, &Item::id) !=
        items.begin() + static_cast<std::ptrdiff_t>(i)) {
      problems.add(list->items[i].where(), std::format("{}: the id '{}' is used twice: give each its own", key, items[i].id));
    }
  }
}

Phases read_phases(const yaml::Node& node, yaml::Problems& problems) {
  yaml::Mapping mapping(node, problems, "phases");
  Phases phases{mapping.require_duration("baseline"), mapping.require_duration("inject"), mapping.get_duration("observe", nanoseconds{0}),
                mapping.require_duration("recover")};
  mapping.finish();
  for (const auto& [key, length] :
       {std::pair{"baseline", phases.baseline}, std::pair{"inject", phases.inject}, std::pair{"recover", phases.recover}}) {
    if (const auto* at = node.find(key); at != nullptr && length < std::chrono::seconds{1}) {
      problems.add(at->where(), std::format("{}: {} is too short to measure in: give at least 1s", key, format_duration(length)));
    }
  }
  if (phases.total() > kLongestScenario) {
    problems.add(node.where(),
                 std::format("phases: {} together, more than {}: shorten them", format_duration(phases.total()), format_duration(kLongestScenario)));
  }
  return phases;
}

Load read_load(const yaml::Node& node, yaml::Problems& problems) {
  Load load;
  yaml::Mapping mapping(node, problems, "load");
  const auto keep = [&](std::string_view key, const auto& result, auto& into) {
    if (const auto* at = node.find(key); at != nullptr && !result) {
      problems.add(at->where(), std::format("{}: {}", key, result.error().message));
    } else if (result) {
      into = *result;
    }
  };
  keep("rate", load::parse_rate(mapping.require_text("rate")), load.rate);
  keep("url", load::parse_url(mapping.require_text("url")), load.request.url);
  load.request.method = mapping.get_choice("method", "GET", {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"});
  load.request.body = mapping.get_text("body");
  load.request.timeout = mapping.get_duration("timeout", load.request.timeout);
  load.connections = static_cast<unsigned>(mapping.get_integer("connections", 0, 1, 1024));
  for (const auto& [key, value] : mapping.get_map("headers")) {
    const auto header = load::parse_header(std::format("{}: {}", key, value));
    if (!header) {
      problems.add(node.find("headers")->find(key)->where(), header.error().message);
    } else {
      load.request.headers.push_back(*header);
    }
  }
  if (const auto* at = node.find("timeout");
      at != nullptr && (load.request.timeout < std::chrono::milliseconds{1} || load.request.timeout > std::chrono::minutes{1})) {
    problems.add(at->where(), "timeout: give 1ms to 1m");
  }
  mapping.finish();
  return load;
}

Probe read_probe(const yaml::Node& node, yaml::Problems& problems) {
  Probe probe;
  yaml::Mapping mapping(node, problems, "probe");
  probe.id = read_id(mapping, problems);
  if (const auto* http = mapping.require("http")) {
    yaml::Mapping fields(*http, problems, "probe.http");
    const auto url = load::parse_url(fields.require_text("url"));
    if (url) {
      probe.url = *url;
    } else if (const auto* at = http->find("url")) {
      fields.problem(*at, "url: " + url.error().message);
    }
    probe.status = static_cast<int>(fields.get_integer("status", probe.status, 100, 599));
    probe.timeout = fields.get_duration("timeout", probe.timeout);
    if (probe.timeout < std::chrono::milliseconds{1} || probe.timeout > std::chrono::seconds{10}) {
      fields.problem(*http, "timeout: give 1ms to 10s");
    }
    fields.finish();
  }
  mapping.finish();
  return probe;
}

Guardrail read_guardrail(const yaml::Node& node, yaml::Problems& problems) {
  Guardrail guardrail;
  yaml::Mapping mapping(node, problems, "guardrail");
  (void)mapping.require("metric");
  (void)mapping.get_choice("metric", "error_ratio", {"error_ratio"});
  if (const auto* most = mapping.require("max")) {
    guardrail.max_error_ratio = read_ratio(*most, "max", problems).value_or(1);
  }
  guardrail.consecutive = static_cast<unsigned>(mapping.get_integer("consecutive", guardrail.consecutive, 1, 100));
  guardrail.interval = mapping.get_duration("interval", guardrail.interval);
  if (guardrail.interval < std::chrono::milliseconds{100} || guardrail.interval > std::chrono::minutes{1}) {
    problems.add(node.where(), "interval: give 100ms to 1m");
  }
  mapping.finish();
  return guardrail;
}

Metric metric_of(std::string_view text) {
  return text == "p50" ? Metric::kP50 : text == "p99" ? Metric::kP99 : text == "availability" ? Metric::kAvailability : Metric::kErrorRatio;
}

Assertion read_assertion(const yaml::Node& node, const Phases& phases, yaml::Problems& problems) {
  Assertion assertion;
  yaml::Mapping mapping(node, problems, "assertion");
  assertion.id = read_id(mapping, problems);
  assertion.primary = mapping.get_boolean("primary", false);
  const auto phase = mapping.get_choice("phase", "inject", {"baseline", "inject", "observe", "recover"});
  assertion.phase = *std::ranges::find_if(kAllPhases, [&](Phase candidate) { return name(candidate) == phase; });
  if (phases.of(assertion.phase) <= nanoseconds{0} && phases.inject > nanoseconds{0}) {
    problems.add(node.where(), std::format("phase: {} has no length, so nothing can be measured in it", phase));
  }
  (void)mapping.get_choice("source", "load", {"load"});
  (void)mapping.require("metric");
  assertion.metric = metric_of(mapping.get_choice("metric", "error_ratio", {"p50", "p99", "error_ratio", "availability"}));
  const auto* least = mapping.find("min");
  const auto* most = mapping.find("max");
  assertion.min_samples = static_cast<std::uint64_t>(mapping.get_integer("min_samples", 0, 1, 1'000'000'000));
  mapping.finish();
  if ((least == nullptr) == (most == nullptr)) {
    problems.add(node.where(), "assertion: give exactly one of min and max");
    return assertion;
  }
  assertion.is_upper = most != nullptr;
  const auto& bound = assertion.is_upper ? *most : *least;
  if (is_latency(assertion.metric)) {
    if (const auto limit = yaml::as_duration(bound); !limit) {
      problems.add(bound.where(), std::format("{}: {}", name(assertion.metric), limit.error().message));
    } else {
      assertion.limit = *limit;
    }
  } else if (const auto ratio = read_ratio(bound, assertion.is_upper ? "max" : "min", problems)) {
    assertion.ratio = *ratio;
    if (*ratio == (assertion.is_upper ? 1.0 : 0.0)) {
      problems.add(bound.where(), std::format("'{}' can never fail: give a stricter limit", assertion.text()));
    }
  }
  return assertion;
}

void check_primary(const Scenario& scenario, const yaml::Node& list, yaml::Problems& problems) {
  const auto primaries = std::ranges::count(scenario.assertions, true, &Assertion::primary);
  if (scenario.assertions.empty()) {
    problems.add(list.where(), "assertions: a scenario that asserts nothing proves nothing: add one");
  } else if (primaries != 1) {
    problems.add(list.where(), std::format("assertions: {} have 'primary: true': mark exactly one, the hypothesis that the run is for", primaries));
  }
}

void read_spec(const yaml::Node& node, Scenario& scenario, yaml::Problems& problems) {
  yaml::Mapping spec(node, problems, "spec");
  spec.allow("parameters");
  if (const auto* phases = spec.require("phases")) {
    scenario.phases = read_phases(*phases, problems);
  }
  if (const auto* load = spec.require("load")) {
    scenario.load = read_load(*load, problems);
  }
  const auto* probes = spec.require("probes");
  for_items(probes, "probes", problems, [&](const yaml::Node& item) { scenario.probes.push_back(read_probe(item, problems)); });
  check_unique_ids(scenario.probes, probes, "probes", problems);
  if (probes != nullptr && scenario.probes.empty()) {
    problems.add(probes->where(), "probes: add one that says when the system is in its steady state");
  }
  const auto* faults = spec.require("faults");
  for_items(faults, "faults", problems, [&](const yaml::Node& item) { scenario.faults.push_back(read_fault(item, scenario.phases, problems)); });
  check_unique_ids(scenario.faults, faults, "faults", problems);
  if (faults != nullptr && scenario.faults.empty()) {
    problems.add(faults->where(), "faults: add one");
  }
  for_items(spec.find("guardrails"), "guardrails", problems,
            [&](const yaml::Node& item) { scenario.guardrails.push_back(read_guardrail(item, problems)); });
  const auto* assertions = spec.require("assertions");
  for_items(assertions, "assertions", problems,
            [&](const yaml::Node& item) { scenario.assertions.push_back(read_assertion(item, scenario.phases, problems)); });
  check_unique_ids(scenario.assertions, assertions, "assertions", problems);
  if (assertions != nullptr) {
    check_primary(scenario, *assertions, problems);
  }
  spec.finish();
}

void read_metadata(const yaml::Node& node, Scenario& scenario, yaml::Problems& problems) {
  yaml::Mapping metadata(node, problems, "metadata");
  scenario.name = metadata.require_text("name");
  scenario.description = metadata.get_text("description");
  scenario.labels = metadata.get_map("labels");
  metadata.finish();
  if (scenario.name.contains('/') || scenario.name.size() > 63) {
    problems.add(node.where(), "metadata.name: at most 63 characters, without '/'");
  }
}

}  // namespace

Result<Scenario> read_scenario(std::string_view text, const std::string& file, const Texts& overrides) {
  auto document = yaml::parse(text, file);
  if (!document) {
    return std::unexpected(document.error());
  }
  yaml::Problems problems;
  Scenario scenario;
  scenario.file = file;
  scenario.parameters = substitute_parameters(*document, overrides, problems);
  yaml::Mapping root(*document, problems, "scenario");
  if (const auto version = root.require_text("apiVersion"); !version.empty() && version != kApiVersion) {
    root.problem(*document->find("apiVersion"), std::format("apiVersion: '{}' is not known here: this release reads {}", version, kApiVersion));
  }
  (void)root.require("kind");
  (void)root.get_choice("kind", "Scenario", {"Scenario"});
  if (const auto* metadata = root.require("metadata")) {
    read_metadata(*metadata, scenario, problems);
  }
  if (const auto* spec = root.require("spec")) {
    read_spec(*spec, scenario, problems);
  }
  root.finish();
  if (const auto result = problems.result(); !result) {
    return std::unexpected(result.error());
  }
  return scenario;
}

Result<Scenario> read_scenario_file(const std::string& path, const Texts& overrides) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || std::filesystem::is_directory(path) || !(text << in.rdbuf())) {
    return fail(ErrorCode::kNotFound, std::format("cannot read the scenario '{}': give the path of a YAML file", path));
  }
  return read_scenario(text.str(), path, overrides);
}

}  // namespace outrigger::chaos
