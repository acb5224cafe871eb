#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/yaml/node.h"

namespace outrigger::yaml {

/// Every problem of a file, in the order found, so that one run of a command shows them all. Not thread-safe.
class Problems final {
 public:
  void add(std::string where, std::string message);
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }

  /// Success, or kInvalidArgument whose message has one line "file:line:column: what is wrong and what to do" a problem.
  [[nodiscard]] Result<void> result() const;

 private:
  std::vector<std::string> lines_;
};

/// Reads one mapping against what the caller expects.
///
/// Each get/require call names a key that may stand here; finish() reports the keys that no call named, with a suggestion.
/// A problem is added to `problems`, and the call returns the fallback (require: an empty value), so that reading goes on.
///
///     yaml::Problems problems;
///     yaml::Mapping root(document, problems);
///     settings.timeout = root.get_duration("timeout", 5s);
///     settings.name = root.require_text("name");
///     if (const auto* node = root.find("retry")) read_retry(*node, problems);
///     root.finish();
///     if (auto ok = problems.result(); !ok) return std::unexpected(ok.error());
///
/// `node` and `problems` must outlive it.
class Mapping final {
 public:
  /// A `node` that is no mapping is a problem; `what` names it in the message ("metadata").
  Mapping(const Node& node, Problems& problems, std::string what = {});

  /// The value of a key; nullptr when it is absent or null.
  const Node* find(std::string_view key);
  const Node* require(std::string_view key);

  std::string get_text(std::string_view key, const std::string& fallback = {});
  std::string require_text(std::string_view key);  ///< not empty
  bool get_boolean(std::string_view key, bool fallback);
  std::int64_t get_integer(std::string_view key, std::int64_t fallback, std::int64_t least, std::int64_t most);
  std::chrono::nanoseconds get_duration(std::string_view key, std::chrono::nanoseconds fallback);
  std::chrono::nanoseconds require_duration(std::string_view key);
  std::vector<std::string> get_texts(std::string_view key);                        ///< a sequence of scalars
  std::vector<std::pair<std::string, std::string>> get_map(std::string_view key);  ///< a mapping of scalars, such as labels
  /// One of `choices`; otherwise a problem with a suggestion.
  std::string get_choice(std::string_view key, std::string_view fallback, const std::vector<std::string_view>& choices);

  /// The key and its value are known here and read elsewhere, or ignored.
  void allow(std::string_view key);
  void finish();

  void problem(const Node& at, std::string message);

 private:
  const Node& node_;
  Problems& problems_;
  std::string what_;
  std::vector<std::string> known_;
};

/// One scalar. Errors: kInvalidArgument with its place as context.
[[nodiscard]] Result<std::string> as_text(const Node& node);  ///< any scalar, as it is written
[[nodiscard]] Result<bool> as_boolean(const Node& node);      ///< true or false; YAML 1.1's yes, on, y are refused
[[nodiscard]] Result<std::int64_t> as_integer(const Node& node, std::int64_t least, std::int64_t most);
[[nodiscard]] Result<std::chrono::nanoseconds> as_duration(const Node& node);

}  // namespace outrigger::yaml
