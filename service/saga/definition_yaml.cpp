#include <algorithm>
#include <charconv>
#include <format>

#include <nlohmann/json.hpp>

#include "lib/http/url.h"
#include "lib/runtime/duration.h"
#include "lib/yaml/node.h"
#include "lib/yaml/reader.h"
#include "lib/yaml/suggest.h"
#include "service/saga/definition.h"
#include "service/saga/internal/digest.h"
#include "service/saga/internal/graph.h"

namespace outrigger::saga {
namespace {

using std::chrono::milliseconds;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxSteps = 64;
constexpr milliseconds kLongest = std::chrono::days(30);

bool is_dns_label(std::string_view text) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= 63 && std::ranges::all_of(text, inner) && text.front() != '-' && text.back() != '-';
}

bool is_topic(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= 249 && text != "." && text != ".." && std::ranges::all_of(text, allowed);
}

bool is_type_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && text.size() <= 100 && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// A text that must look like something; reports what it must look like.
std::string read_name(yaml::Mapping& from, std::string_view key, bool (*is_valid)(std::string_view), std::string_view rule) {
  auto text = from.require_text(key);
  if (const auto* node = from.find(key); node != nullptr && !text.empty() && !is_valid(text)) {
    from.problem(*node, std::format("{}: '{}' is not possible; use {}", key, text, rule));
  }
  return text;
}

milliseconds read_duration(yaml::Mapping& from, std::string_view key, milliseconds fallback) {
  const auto value = from.get_duration(key, fallback);
  if (const auto* node = from.find(key);
      node != nullptr && (value < milliseconds(1) || value > kLongest || value % milliseconds(1) != value.zero())) {
    from.problem(*node, std::format("{}: {} is not possible; use whole milliseconds from 1ms to 30d", key, format_duration(value)));
    return fallback;
  }
  return std::chrono::duration_cast<milliseconds>(value);
}

RetryPolicy read_retry(yaml::Mapping& parent, RetryPolicy policy, yaml::Problems& problems) {
  const auto* node = parent.find("retry");
  if (node == nullptr) {
    return policy;
  }
  yaml::Mapping from(*node, problems, "retry");
  policy.attempts = static_cast<std::uint32_t>(from.get_integer("attempts", policy.attempts, 1, 1000));
  policy.backoff = read_duration(from, "backoff", policy.backoff);
  policy.max_backoff = read_duration(from, "maxBackoff", std::max(policy.max_backoff, policy.backoff));
  if (policy.max_backoff < policy.backoff) {
    from.problem(*from.find("maxBackoff"), "maxBackoff: is shorter than backoff; raise it or lower backoff");
  }
  if (const auto* multiplier = from.find("multiplier"); multiplier != nullptr) {
    const auto& text = multiplier->scalar;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), policy.multiplier);
    if (error != std::errc{} || end != text.data() + text.size() || !(policy.multiplier >= 1 && policy.multiplier <= 100)) {
      from.problem(*multiplier, std::format("multiplier: expected a number from 1 to 100, found '{}'", text));
      policy.multiplier = 2;
    }
  }
  from.finish();
  return policy;
}

std::string read_url(yaml::Mapping& from, const std::string& fallback) {
  auto text = from.get_text("url", fallback);
  if (const auto* node = from.find("url"); node != nullptr) {
    if (const auto url = http::parse_url(text); !url) {
      from.problem(*node, std::format("url: {}", url.error().message));
    }
  }
  return text;
}

/// A topic or a URL: exactly one of them.
void read_destination(yaml::Mapping& from, Step& step) {
  step.url = read_url(from, {});
  if (const auto* topic = from.find("topic"); topic != nullptr && from.find("url") != nullptr) {
    from.problem(*topic, "topic: the step names a url already; remove one of the two");
  } else if (step.url.empty()) {
    step.topic = read_name(from, "topic", is_topic, "letters, digits, '.', '_' and '-', at most 249");
  }
}

Step read_step(const yaml::Node& node, yaml::Problems& problems) {
  Step step;
  yaml::Mapping from(node, problems, "step");
  step.name = read_name(from, "name", is_dns_label, "lower-case letters, digits and '-', at most 63");
  read_destination(from, step);
  step.command = read_name(from, "command", is_type_name, "letters and digits, such as ReserveInventory");
  step.after = from.get_texts("after");
  step.timeout = read_duration(from, "timeout", step.timeout);
  step.retry = read_retry(from, step.retry, problems);
  if (const auto* undo = from.find("compensate"); undo != nullptr) {
    Compensation compensation;
    yaml::Mapping inside(*undo, problems, "compensate");
    compensation.command = read_name(inside, "command", is_type_name, "letters and digits, such as ReleaseInventory");
    if (const auto* url = inside.find("url"); url != nullptr && step.url.empty()) {
      inside.problem(*url, "url: the step itself names a topic, and do and undo go the same way; give the step a url or remove this one");
    }
    compensation.url = read_url(inside, step.url);
    compensation.timeout = read_duration(inside, "timeout", compensation.timeout);
    compensation.retry = read_retry(inside, compensation.retry, problems);
    inside.finish();
    step.compensate = std::move(compensation);
  }
  step.pivot = from.get_boolean("pivot", false);
  from.finish();
  return step;
}

Json to_json(const RetryPolicy& policy) {
  return {{"attempts", policy.attempts},
          {"backoff", format_duration(policy.backoff)},
          {"maxBackoff", format_duration(policy.max_backoff)},
          {"multiplier", policy.multiplier}};
}

/// JSON is YAML, so the canonical text is read by the same reader. The description is not part of it: it changes nothing.
std::string canonical(const Definition& definition) {
  auto steps = Json::array();
  for (const auto& step : definition.steps) {
    const bool has_url = !step.url.empty();
    Json json{{"name", step.name},
              {has_url ? "url" : "topic", has_url ? step.url : step.topic},
              {"command", step.command},
              {"after", step.after},
              {"timeout", format_duration(step.timeout)},
              {"retry", to_json(step.retry)}};
    if (step.compensate) {
      json["compensate"] = {
          {"command", step.compensate->command}, {"timeout", format_duration(step.compensate->timeout)}, {"retry", to_json(step.compensate->retry)}};
      if (has_url) {
        json["compensate"]["url"] = step.compensate->url;
      }
    }
    if (step.pivot) {
      json["pivot"] = true;  // only then: the hashes of definitions without one are older than the key
    }
    steps.push_back(std::move(json));
  }
  const Json root{{"apiVersion", "outrigger/v1"},
                  {"kind", "SagaDefinition"},
                  {"metadata", {{"name", definition.name}, {"version", definition.version}}},
                  {"spec", {{"deadline", format_duration(definition.deadline)}, {"steps", std::move(steps)}}}};
  return root.dump();
}

}  // namespace

Result<Definition> parse_definition(std::string_view text, std::string_view file_name) {
  const auto document = yaml::parse(text, file_name);
  if (!document) {
    return fail(document.error().code, document.error().to_string());
  }
  yaml::Problems problems;
  Definition definition;
  yaml::Mapping root(*document, problems);
  root.require("apiVersion");
  root.get_choice("apiVersion", "", {"outrigger/v1"});
  root.require("kind");
  root.get_choice("kind", "", {"SagaDefinition"});
  if (const auto* node = root.require("metadata"); node != nullptr) {
    yaml::Mapping metadata(*node, problems, "metadata");
    definition.name = read_name(metadata, "name", is_dns_label, "lower-case letters, digits and '-', at most 63");
    metadata.require("version");
    definition.version = static_cast<std::uint32_t>(metadata.get_integer("version", 1, 1, 1'000'000));
    definition.description = metadata.get_text("description");
    metadata.finish();
  }
  std::vector<const yaml::Node*> nodes;
  if (const auto* node = root.require("spec"); node != nullptr) {
    yaml::Mapping spec(*node, problems, "spec");
    spec.require("deadline");
    definition.deadline = read_duration(spec, "deadline", definition.deadline);
    if (const auto* steps = spec.require("steps"); steps != nullptr) {
      if (steps->kind != yaml::Node::Kind::kSequence || steps->items.empty() || steps->items.size() > kMaxSteps) {
        spec.problem(*steps, std::format("steps: expected a list of 1 to {} steps", kMaxSteps));
      } else {
        for (const auto& step : steps->items) {
          definition.steps.push_back(read_step(step, problems));
          nodes.push_back(&step);
        }
      }
    }
    spec.finish();
  }
  root.finish();
  if (problems.empty()) {
    order_steps(definition, nodes, problems);
  }
  if (auto read = problems.result(); !read) {
    return std::unexpected(read.error());
  }
  definition.body = canonical(definition);
  definition.hash = sha256_hex(definition.body);
  return definition;
}

}  // namespace outrigger::saga
