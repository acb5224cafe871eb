#include "slo/spec/selector.h"

#include <algorithm>
#include <cctype>
#include <format>
#include <regex>

namespace outrigger::slo {
namespace {

bool is_name_start(char c, bool colon) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (colon && c == ':'); }
bool is_name(char c, bool colon) { return is_name_start(c, colon) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// A reader of the text from left to right.
class Scanner final {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_space() { rest_from(text_.find_first_not_of(" \t\n", at_)); }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

  bool take(std::string_view token) {
    skip_space();
    const bool found = rest().starts_with(token);
    at_ += found ? token.size() : 0;
    return found;
  }

  std::string name(bool colon) {
    skip_space();
    const auto begin = at_;
    while (!at_end() && (at_ == begin ? is_name_start(text_[at_], colon) : is_name(text_[at_], colon))) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  /// A double-quoted string; nothing when it is not closed or uses an escape other than \\ \" \n.
  std::optional<std::string> quoted() {
    if (!take("\"")) {
      return std::nullopt;
    }
    std::string value;
    for (; !at_end() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        value += text_[at_];
        continue;
      }
      ++at_;
      if (at_end() || !std::string_view("\\\"n").contains(text_[at_])) {
        return std::nullopt;
      }
      value += text_[at_] == 'n' ? '\n' : text_[at_];
    }
    return take("\"") ? std::optional(value) : std::nullopt;
  }

 private:
  void rest_from(std::size_t at) { at_ = std::min(at, text_.size()); }
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view text_of(Matcher::Kind kind) {
  switch (kind) {
    case Matcher::Kind::kEqual: return "=";
    case Matcher::Kind::kNotEqual: return "!=";
    case Matcher::Kind::kRegex: return "=~";
    case Matcher::Kind::kNotRegex: return "!~";
  }
  impossible("slo::Matcher::Kind");
}

/// Texts that the regular expression may match, simplest first.
std::vector<std::string> candidates(const std::string& expression) {
  std::vector<std::string> found;
  std::string part;
  int depth = 0;
  for (const char c : expression + "|") {
    if (c == '|' && depth == 0) {
      found.push_back(std::exchange(part, {}));
    } else {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      part += c;
    }
  }
  std::vector<std::string> simplest;
  for (const auto& text : found) {
    const auto without_groups = std::regex_replace(text, std::regex(R"(\([^()]*\)[?*])"), "");
    const auto first_of_groups = std::regex_replace(without_groups, std::regex(R"(\(([^()|]*)[^()]*\))"), "$1");
    const auto repeated = std::regex_replace(first_of_groups, std::regex(R"(\.[+*])"), "x");
    const auto classes = std::regex_replace(repeated, std::regex(R"(\[([^\]])[^\]]*\][+*]?)"), "$1");
    simplest.push_back(std::regex_replace(std::regex_replace(classes, std::regex(R"(\\\.)"), "_"), std::regex(R"(\.)"), "0"));
    simplest.push_back(classes);
    simplest.push_back(without_groups);
  }
  std::ranges::move(found, std::back_inserter(simplest));
  return simplest;
}

std::vector<std::string> candidates_of(const Selector& selector, std::string_view label) {
  std::vector<std::string> found;
  for (const auto& matcher : selector.matchers) {
    if (matcher.label == label && matcher.kind == Matcher::Kind::kEqual) {
      found.push_back(matcher.value);
    } else if (matcher.label == label && matcher.kind == Matcher::Kind::kRegex) {
      std::ranges::move(candidates(matcher.value), std::back_inserter(found));
    }
  }
  found.emplace_back("other");
  found.emplace_back("1");
  return found;
}

bool label_fits(const Selector& selector, std::string_view label, std::string_view value) {
  return std::ranges::all_of(selector.matchers, [&](const Matcher& m) { return m.label != label || m.matches(value); });
}

}  // namespace

bool Matcher::matches(std::string_view text) const {
  switch (kind) {
    case Kind::kEqual: return text == value;
    case Kind::kNotEqual: return text != value;
    case Kind::kRegex: return std::regex_match(std::string(text), std::regex(value));
    case Kind::kNotRegex: return !std::regex_match(std::string(text), std::regex(value));
  }
  impossible("slo::Matcher::Kind");
}

std::string Selector::to_string() const {
  std::string out = metric;
  for (std::size_t i = 0; i < matchers.size(); ++i) {
    const auto& [label, kind, value] = matchers[i];
    out += i == 0 ? "{" : ",";
    out += label;
    out += text_of(kind);
    out += '"';
    for (const char c : value) {
      out += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    out += '"';
  }
  return matchers.empty() ? out : out + "}";
}

bool Selector::matches(const std::map<std::string, std::string>& labels) const {
  return std::ranges::all_of(matchers, [&](const Matcher& matcher) {
    const auto found = labels.find(matcher.label);
    return matcher.matches(found == labels.end() ? std::string_view{} : found->second);
  });
}

Result<Selector> parse_selector(std::string_view text) {
  const auto wrong = [&](const std::string& why) {
    return fail(
        ErrorCode::kInvalidArgument,
        std::format("'{}' is not a bare counter selector: {}; write metric_total{{label=\"value\"}} alone, the windows are added by the generator",
                    text, why));
  };
  Scanner scanner(text);
  Selector selector;
  selector.metric = scanner.name(true);
  if (selector.metric.empty()) {
    return wrong("it does not begin with a metric name");
  }
  if (scanner.take("{")) {
    while (!scanner.take("}")) {
      Matcher matcher;
      matcher.label = scanner.name(false);
      if (matcher.label.empty()) {
        return wrong("a label name is missing inside { }");
      }
      if (scanner.take("=~")) {
        matcher.kind = Matcher::Kind::kRegex;
      } else if (scanner.take("!~")) {
        matcher.kind = Matcher::Kind::kNotRegex;
      } else if (scanner.take("!=")) {
        matcher.kind = Matcher::Kind::kNotEqual;
      } else if (!scanner.take("=")) {
        return wrong(std::format("after {} one of = != =~ !~ is expected", matcher.label));
      }
      const auto value = scanner.quoted();
      if (!value) {
        return wrong(std::format("the value of {} must stand in double quotes", matcher.label));
      }
      matcher.value = *value;
      try {
        [[maybe_unused]] const bool tried = matcher.matches("");
      } catch (const std::regex_error&) {
        return wrong(std::format("the regular expression of {} is broken", matcher.label));
      }
      selector.matchers.push_back(std::move(matcher));
      if (!scanner.take(",") && !scanner.rest().starts_with('}')) {
        return wrong("matchers are parted by commas and end with }");
      }
    }
  }
  scanner.skip_space();
  if (!scanner.at_end()) {
    return wrong(std::format("'{}' follows it", scanner.rest()));
  }
  return selector;
}

Result<std::map<std::string, std::string>> example_labels(const Selector& wanted, const Selector* unwanted) {
  std::map<std::string, std::string> labels;
  for (const auto& matcher : wanted.matchers) {
    if (matcher.kind == Matcher::Kind::kEqual || matcher.kind == Matcher::Kind::kRegex) {
      const auto texts = candidates_of(wanted, matcher.label);
      const auto fitting = std::ranges::find_if(texts, [&](const auto& text) { return label_fits(wanted, matcher.label, text); });
      if (fitting == texts.end()) {
        return fail(ErrorCode::kFailedPrecondition,
                    std::format("no value was found that {} of {} matches: use a simpler expression", matcher.label, wanted.to_string()));
      }
      labels[matcher.label] = *fitting;
    }
  }
  // One label that keeps the unwanted selector away is enough.
  for (std::size_t i = 0; unwanted != nullptr && unwanted->matches(labels) && i < unwanted->matchers.size(); ++i) {
    const auto& label = unwanted->matchers[i].label;
    for (const auto& text : candidates_of(wanted, label)) {
      if (label_fits(wanted, label, text) && !label_fits(*unwanted, label, text)) {
        labels[label] = text;
        break;
      }
    }
  }
  if (!wanted.matches(labels) || (unwanted != nullptr && unwanted->matches(labels))) {
    return fail(ErrorCode::kFailedPrecondition, std::format("no labels were found that {} matches{}", wanted.to_string(),
                                                            unwanted == nullptr ? "" : " and " + unwanted->to_string() + " does not"));
  }
  return labels;
}

}  // namespace outrigger::slo
