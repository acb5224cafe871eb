#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::http_participants {

/// Every address of a host as numbers, IPv4 first. Blocks for as long as the system's resolver takes.
/// Errors: kUnavailable with the resolver's words.
[[nodiscard]] Result<std::vector<std::string>> resolve(const std::string& host);

}  // namespace outrigger::http_participants
