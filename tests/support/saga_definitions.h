#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "service/saga/definition.h"

namespace outrigger::testing {

struct DefinitionShape {
  std::size_t steps = 3;
  std::uint32_t attempts = 3;
  std::uint32_t undo_attempts = 3;
  std::chrono::milliseconds timeout{1'000};
  std::chrono::milliseconds deadline{60'000};
};

/// A sequence of steps "step-1", "step-2", … on topics "cmd.1", …, commands Do1/Undo1, …. Read by the real reader.
[[nodiscard]] saga::Definition make_sequence(const DefinitionShape& shape = {});

/// The same for any graph: "2: 1" says that step-2 comes after step-1. The words of a step's line are: its number and ':', the numbers
/// before it, and "pivot" and "final" (without compensation) where it is so. make_graph({"1:", "2: 1", "3: 1", "4: 2 3"}) is a diamond.
[[nodiscard]] saga::Definition make_graph(const std::vector<std::string>& steps, const DefinitionShape& shape = {});

}  // namespace outrigger::testing
