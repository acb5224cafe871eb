#pragma once

#include <string>

#include "lib/contracts/internal/node.h"

namespace outrigger::contracts::internal {

/// The parsing canonical form of a schema.
[[nodiscard]] std::string canonical_form(const Node& root);

}  // namespace outrigger::contracts::internal
