#include "tests/support/saga_definitions.h"

#include <format>
#include <sstream>

#include "lib/runtime/duration.h"

namespace outrigger::testing {

saga::Definition make_graph(const std::vector<std::string>& steps, const DefinitionShape& shape) {
  auto text =
      std::format("apiVersion: outrigger/v1\nkind: SagaDefinition\nmetadata: {{name: sequence, version: 1}}\nspec:\n  deadline: {}\n  steps:\n",
                  format_duration(shape.deadline));
  for (const auto& line : steps) {
    std::istringstream words(line);
    std::string number;
    std::getline(words, number, ':');
    std::string after;
    bool is_pivot = false;
    bool is_final = false;
    for (std::string word; words >> word;) {
      if (word == "pivot") {
        is_pivot = true;
      } else if (word == "final") {
        is_final = true;
      } else {
        after += std::format("{}step-{}", after.empty() ? "" : ", ", word);
      }
    }
    text += std::format("    - {{name: step-{0}, topic: cmd.{0}, command: Do{0}, after: [{1}], timeout: {2}, retry: {{attempts: {3}}}", number, after,
                        format_duration(shape.timeout), shape.attempts);
    text += is_pivot ? ", pivot: true" : "";
    text += is_final ? ""
                     : std::format(", compensate: {{command: Undo{0}, timeout: {1}, retry: {{attempts: {2}}}}}", number,
                                   format_duration(shape.timeout), shape.undo_attempts);
    text += "}\n";
  }
  auto definition = saga::parse_definition(text, "test");
  if (!definition) {
    impossible("the test's definition", definition.error().to_string());
  }
  return std::move(*definition);
}

saga::Definition make_sequence(const DefinitionShape& shape) {
  std::vector<std::string> steps{"1:"};
  for (std::size_t i = 2; i <= shape.steps; ++i) {
    steps.push_back(std::format("{}: {}", i, i - 1));
  }
  return make_graph(steps, shape);
}

}  // namespace outrigger::testing
