#include "lib/yaml/reader.h"

#include <algorithm>
#include <charconv>
#include <format>

#include "lib/runtime/duration.h"
#include "lib/yaml/suggest.h"

namespace outrigger::yaml {
namespace {

std::string_view kind_name(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kScalar: return "a single value";
    case Node::Kind::kSequence: return "a list";
    case Node::Kind::kMapping: return "a mapping";
  }
  impossible("yaml::Node::Kind");
}

std::unexpected<Error> not_a(std::string_view expected, const Node& node) {
  const auto found = node.kind == Node::Kind::kScalar ? std::format("'{}'", node.scalar) : std::string(kind_name(node.kind));
  return fail(ErrorCode::kInvalidArgument, std::format("expected {}, found {}", expected, found), node.where());
}

}  // namespace

void Problems::add(std::string where, std::string message) {
  lines_.push_back(where.empty() ? std::move(message) : std::move(where) + ": " + std::move(message));
}

Result<void> Problems::result() const {
  if (lines_.empty()) {
    return {};
  }
  std::string all;
  for (const auto& line : lines_) {
    all += all.empty() ? "" : "\n";
    all += line;
  }
  return fail(ErrorCode::kInvalidArgument, std::move(all));
}

Mapping::Mapping(const Node& node, Problems& problems, std::string what) : node_(node), problems_(problems), what_(std::move(what)) {
  if (node.kind != Node::Kind::kMapping) {
    problem(node, std::format("{}expected a mapping (key: value), found {}", what_.empty() ? "" : what_ + ": ", kind_name(node.kind)));
  }
}

void Mapping::problem(const Node& at, std::string message) { problems_.add(at.where(), std::move(message)); }

void Mapping::allow(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) {
    known_.emplace_back(key);
  }
}

const Node* Mapping::find(std::string_view key) {
  allow(key);
  const auto* found = node_.find(key);
  return found != nullptr && found->kind == Node::Kind::kNull ? nullptr : found;
}

const Node* Mapping::require(std::string_view key) {
  const auto* found = find(key);
  if (found == nullptr && node_.kind == Node::Kind::kMapping) {
    const auto* empty = node_.find(key);
    problems_.add(empty != nullptr ? empty->where_key() : node_.where(),
                  empty != nullptr ? std::format("'{}' has no value: give it one", key)
                                   : std::format("{}'{}' is missing: add it", what_.empty() ? "" : what_ + ": ", key));
  }
  return found;
}

namespace {

/// The value, or nothing after reporting why it has none.
template <class T>
std::optional<T> keep(Result<T> read, std::string_view key, Problems& problems) {
  if (read) {
    return std::move(*read);
  }
  problems.add(read.error().context, std::format("{}: {}", key, read.error().message));
  return std::nullopt;
}

}  // namespace

std::string Mapping::get_text(std::string_view key, const std::string& fallback) {
  const auto* node = find(key);
  return node == nullptr ? fallback : keep(as_text(*node), key, problems_).value_or(fallback);
}

std::string Mapping::require_text(std::string_view key) {
  const auto* node = require(key);
  if (node == nullptr) {
    return {};
  }
  auto text = keep(as_text(*node), key, problems_);
  if (text && text->empty()) {
    problem(*node, std::format("{}: must not be empty", key));
  }
  return text.value_or("");
}

bool Mapping::get_boolean(std::string_view key, bool fallback) {
  const auto* node = find(key);
  return node == nullptr ? fallback : keep(as_boolean(*node), key, problems_).value_or(fallback);
}

std::int64_t Mapping::get_integer(std::string_view key, std::int64_t fallback, std::int64_t least, std::int64_t most) {
  const auto* node = find(key);
  return node == nullptr ? fallback : keep(as_integer(*node, least, most), key, problems_).value_or(fallback);
}

std::chrono::nanoseconds Mapping::get_duration(std::string_view key, std::chrono::nanoseconds fallback) {
  const auto* node = find(key);
  return node == nullptr ? fallback : keep(as_duration(*node), key, problems_).value_or(fallback);
}

std::chrono::nanoseconds Mapping::require_duration(std::string_view key) {
  const auto* node = require(key);
  return node == nullptr ? std::chrono::nanoseconds{0} : keep(as_duration(*node), key, problems_).value_or(std::chrono::nanoseconds{0});
}

std::vector<std::string> Mapping::get_texts(std::string_view key) {
  std::vector<std::string> texts;
  const auto* node = find(key);
  if (node == nullptr) {
    return texts;
  }
  if (node->kind != Node::Kind::kSequence) {
    problem(*node, std::format("{}: expected a list, found {}", key, kind_name(node->kind)));
  }
  for (const auto& item : node->items) {
    if (auto text = keep(as_text(item), key, problems_)) {
      texts.push_back(std::move(*text));
    }
  }
  return texts;
}

std::vector<std::pair<std::string, std::string>> Mapping::get_map(std::string_view key) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto* node = find(key);
  if (node == nullptr) {
    return pairs;
  }
  if (node->kind != Node::Kind::kMapping) {
    problem(*node, std::format("{}: expected a mapping (key: value), found {}", key, kind_name(node->kind)));
  }
  for (const auto& [name, value] : node->entries) {
    if (auto text = keep(as_text(value), std::format("{}.{}", key, name), problems_)) {
      pairs.emplace_back(name, std::move(*text));
    }
  }
  return pairs;
}

std::string Mapping::get_choice(std::string_view key, std::string_view fallback, const std::vector<std::string_view>& choices) {
  const auto* node = find(key);
  auto text = node == nullptr ? std::nullopt : keep(as_text(*node), key, problems_);
  if (text && std::ranges::find(choices, *text) == choices.end()) {
    problem(*node, std::format("{}: '{}' is not possible; {}", key, *text, suggestion(*text, choices)));
    text.reset();
  }
  return text.value_or(std::string(fallback));
}

void Mapping::finish() {
  const std::vector<std::string_view> known(known_.begin(), known_.end());
  for (const auto& [key, value] : node_.entries) {
    if (std::ranges::find(known, key) == known.end()) {
      problems_.add(value.where_key(), std::format("unknown key '{}'{}; {}", key, what_.empty() ? "" : " in " + what_, suggestion(key, known)));
    }
  }
}

Result<std::string> as_text(const Node& node) {
  if (node.kind != Node::Kind::kScalar) {
    return not_a("a single value", node);
  }
  return node.scalar;
}

Result<bool> as_boolean(const Node& node) {
  if (node.kind == Node::Kind::kScalar && !node.quoted && (node.scalar == "true" || node.scalar == "false")) {
    return node.scalar == "true";
  }
  return not_a("true or false", node);
}

Result<std::int64_t> as_integer(const Node& node, std::int64_t least, std::int64_t most) {
  const auto expected = std::format("a whole number from {} to {}", least, most);
  std::int64_t value = 0;
  const auto* end = node.scalar.data() + node.scalar.size();
  const auto [stopped, problem] = std::from_chars(node.scalar.data(), end, value);
  if (node.kind != Node::Kind::kScalar || node.quoted || problem != std::errc{} || stopped != end || value < least || value > most) {
    return not_a(expected, node);
  }
  return value;
}

Result<std::chrono::nanoseconds> as_duration(const Node& node) {
  if (node.kind != Node::Kind::kScalar) {
    return not_a("a duration such as 300ms or 1m30s", node);
  }
  auto duration = parse_duration(node.scalar);
  if (!duration) {
    return fail(ErrorCode::kInvalidArgument, duration.error().message, node.where());
  }
  return *duration;
}

}  // namespace outrigger::yaml
