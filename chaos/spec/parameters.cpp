#include <algorithm>
#include <format>

#include "chaos/spec/internal/readers.h"
#include "lib/yaml/suggest.h"

namespace outrigger::chaos {
namespace {

std::vector<std::string_view> names_of(const Texts& parameters) {
  std::vector<std::string_view> names;
  for (const auto& parameter : parameters) {
    names.emplace_back(parameter.first);
  }
  return names;
}

const std::string* value_of(const Texts& parameters, std::string_view wanted) {
  const auto found = std::ranges::find(parameters, wanted, &std::pair<std::string, std::string>::first);
  return found == parameters.end() ? nullptr : &found->second;
}

class Substitution {
 public:
  Substitution(const Texts& parameters, yaml::Problems& problems) : parameters_(parameters), problems_(problems) {}

  void in(yaml::Node& node) {
    switch (node.kind) {
      case yaml::Node::Kind::kNull: break;
      case yaml::Node::Kind::kScalar: in_scalar(node); break;
      case yaml::Node::Kind::kSequence: std::ranges::for_each(node.items, [this](yaml::Node& item) { in(item); }); break;
      case yaml::Node::Kind::kMapping: std::ranges::for_each(node.entries, [this](auto& entry) { in(entry.value); }); break;
    }
  }

 private:
  void in_scalar(yaml::Node& node) {
    std::string out;
    std::string_view rest = node.scalar;
    for (auto dollar = rest.find('$'); dollar != std::string_view::npos; dollar = rest.find('$')) {
      out += rest.substr(0, dollar);
      rest.remove_prefix(dollar);
      if (rest.starts_with("$${")) {
        out += "${";
        rest.remove_prefix(3);
      } else if (rest.starts_with("${")) {
        const auto end = rest.find('}');
        if (end == std::string_view::npos) {
          problems_.add(node.where(), "'${' is not closed: write ${name}, or $${ for the characters themselves");
          return;
        }
        const auto wanted = rest.substr(2, end - 2);
        if (const auto* value = value_of(parameters_, wanted)) {
          out += *value;
        } else {
          const auto known = names_of(parameters_);
          problems_.add(node.where(), std::format("no parameter '{}'; {}", wanted,
                                                  known.empty() ? "declare it in spec.parameters" : yaml::suggestion(wanted, known)));
        }
        // "${rate}" in quotes is the parameter itself, not a text that happens to hold digits.
        node.quoted = node.quoted && rest.substr(0, end + 1) != node.scalar;
        rest.remove_prefix(end + 1);
      } else {
        out += '$';
        rest.remove_prefix(1);
      }
    }
    node.scalar = out + std::string(rest);
  }

  const Texts& parameters_;
  yaml::Problems& problems_;
};

yaml::Node* find_entry(yaml::Node& node, std::string_view key) {
  const auto found = std::ranges::find_if(node.entries, [&](const auto& entry) { return entry.key == key; });
  return found == node.entries.end() ? nullptr : &found->value;
}

}  // namespace

Texts substitute_parameters(yaml::Node& document, const Texts& overrides, yaml::Problems& problems) {
  Texts parameters;
  yaml::Node* spec = find_entry(document, "spec");
  if (spec == nullptr) {
    return parameters;
  }
  std::vector<std::pair<std::string, std::string>> without_value;
  if (const auto* declared = spec->find("parameters"); declared != nullptr && declared->kind == yaml::Node::Kind::kMapping) {
    for (const auto& [key, value] : declared->entries) {
      if (value.kind == yaml::Node::Kind::kNull) {
        without_value.emplace_back(key, value.where_key());
        parameters.emplace_back(key, "");
      } else if (auto text = yaml::as_text(value)) {
        parameters.emplace_back(key, *text);
      } else {
        problems.add(text.error().context, std::format("parameter {}: {}", key, text.error().message));
      }
    }
  } else if (declared != nullptr && declared->kind != yaml::Node::Kind::kNull) {
    problems.add(declared->where(), "parameters: expected a mapping (name: value)");
  }
  for (const auto& [key, value] : overrides) {
    const auto found = std::ranges::find(parameters, key, &std::pair<std::string, std::string>::first);
    if (found == parameters.end()) {
      const auto known = names_of(parameters);
      problems.add("--set " + key,
                   std::format("the scenario has no such parameter; {}", known.empty() ? "it has none" : yaml::suggestion(key, known)));
      continue;
    }
    found->second = value;
    std::erase_if(without_value, [&wanted = key](const auto& entry) { return entry.first == wanted; });
  }
  for (const auto& [key, where] : without_value) {
    problems.add(where, std::format("parameter '{}' has no default: give it with --set {}=VALUE", key, key));
  }
  for (auto& [key, value] : spec->entries) {
    if (key != "parameters") {
      Substitution(parameters, problems).in(value);
    }
  }
  return parameters;
}

}  // namespace outrigger::chaos
