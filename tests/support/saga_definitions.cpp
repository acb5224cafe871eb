#include "tests/support/saga_definitions.h"

#include <format>

#include "lib/runtime/duration.h"

namespace outrigger::testing {

saga::Definition make_sequence(const DefinitionShape& shape) {
  auto text =
      std::format("apiVersion: outrigger/v1\nkind: SagaDefinition\nmetadata: {{name: sequence, version: 1}}\nspec:\n  deadline: {}\n  steps:\n",
                  format_duration(shape.deadline));
  for (std::size_t i = 1; i <= shape.steps; ++i) {
    text += std::format("    - {{name: step-{0}, topic: cmd.{0}, command: Do{0}, timeout: {1}, retry: {{attempts: {2}}}", i,
                        format_duration(shape.timeout), shape.attempts);
    text += std::format(", compensate: {{command: Undo{0}, timeout: {1}, retry: {{attempts: {2}}}}}", i, format_duration(shape.timeout),
                        shape.undo_attempts);
    text += i == 1 ? "}\n" : std::format(", after: [step-{}]}}\n", i - 1);
  }
  auto definition = saga::parse_definition(text, "test");
  if (!definition) {
    impossible("the test's definition", definition.error().to_string());
  }
  return std::move(*definition);
}

}  // namespace outrigger::testing
