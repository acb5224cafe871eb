#include "slo/rules/rule_file.h"

#include <format>
#include <ranges>

namespace outrigger::slo {
namespace {

/// One line stays on the key's line; several become a literal block.
std::string scalar(std::string_view text, std::string_view indent) {
  if (!text.contains('\n')) {
    return yaml_quoted(text);
  }
  std::string out = "|-";
  for (const auto line : std::views::split(text, '\n')) {
    out += std::format("\n{}  {}", indent, std::string_view(line));
  }
  return out;
}

void append_pairs(std::string& out, std::string_view key, const Pairs& pairs) {
  if (pairs.empty()) {
    return;
  }
  out += std::format("        {}:\n", key);
  for (const auto& [name, value] : pairs) {
    out += std::format("          {}: {}\n", name, scalar(value, "          "));
  }
}

}  // namespace

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      default: out += c;
    }
  }
  return out + "\"";
}

std::string to_yaml(const std::vector<RuleGroup>& groups, std::string_view remark) {
  std::string out;
  for (const auto line : std::views::split(remark, '\n')) {
    out += std::format("# {}\n", std::string_view(line));
  }
  out += "groups:\n";
  for (const auto& group : groups) {
    out += std::format("  - name: {}\n", yaml_quoted(group.name));
    if (!group.interval.empty()) {
      out += std::format("    interval: {}\n", group.interval);
    }
    out += "    rules:\n";
    for (const auto& rule : group.rules) {
      out += rule.alert.empty() ? std::format("      - record: {}\n", rule.record) : std::format("      - alert: {}\n", rule.alert);
      out += std::format("        expr: {}\n", scalar(rule.expr, "        "));
      if (!rule.hold.empty()) {
        out += std::format("        for: {}\n", rule.hold);
      }
      append_pairs(out, "labels", rule.labels);
      append_pairs(out, "annotations", rule.annotations);
    }
  }
  return out;
}

}  // namespace outrigger::slo
