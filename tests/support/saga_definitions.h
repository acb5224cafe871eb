#pragma once

#include <cstddef>

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

}  // namespace outrigger::testing
