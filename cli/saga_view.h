#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "cli/output.h"

namespace outrigger::cli {

/// How sagas look to people; the functions take the service's JSON and never fail on what is missing. Pure.

[[nodiscard]] Cell saga_status(const nlohmann::ordered_json& saga);
[[nodiscard]] Table saga_list(const nlohmann::ordered_json& sagas);
[[nodiscard]] Table saga_steps(const nlohmann::ordered_json& saga);

/// What happened, from the entry `first` of the history on.
[[nodiscard]] Table saga_timeline(const nlohmann::ordered_json& saga, std::size_t first = 0);

/// Nothing happens to it any more unless an operator acts: COMPLETED, COMPENSATED, STUCK, ABANDONED.
[[nodiscard]] bool is_at_rest(const nlohmann::ordered_json& saga);

/// A member as text; "" when it is absent or null.
[[nodiscard]] std::string text_of(const nlohmann::ordered_json& object, std::string_view key);

}  // namespace outrigger::cli
