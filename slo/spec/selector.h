#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::slo {

/// One `label op "value"` of a PromQL selector.
struct Matcher {
  enum class Kind { kEqual, kNotEqual, kRegex, kNotRegex };
  std::string label;
  Kind kind = Kind::kEqual;
  std::string value;

  [[nodiscard]] bool matches(std::string_view text) const;
  [[nodiscard]] bool operator==(const Matcher&) const = default;
};

/// A bare PromQL vector selector: `metric{label="value",…}`, nothing round it, no range and no offset.
struct Selector {
  std::string metric;
  std::vector<Matcher> matchers;

  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] bool matches(const std::map<std::string, std::string>& labels) const;
};

/// Errors: kInvalidArgument saying what of the text is not a bare selector, and what to write.
[[nodiscard]] Result<Selector> parse_selector(std::string_view text);

/// Labels that `wanted` matches and `unwanted` (may be nullptr) does not: the series of a generated test.
/// Regular expressions are tried with plain candidates made from them ("5.." gives "500").
/// Errors: kFailedPrecondition when none was found.
[[nodiscard]] Result<std::map<std::string, std::string>> example_labels(const Selector& wanted, const Selector* unwanted);

}  // namespace outrigger::slo
