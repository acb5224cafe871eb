#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/contracts/internal/node.h"
#include "lib/runtime/error.h"

namespace outrigger::contracts::internal {

/// Appends the Avro binary of `value`. `path` is where the value stands, for errors.
[[nodiscard]] Result<void> encode_value(const Node& type, const nlohmann::json& value, const std::string& path, std::string& out);

}  // namespace outrigger::contracts::internal
