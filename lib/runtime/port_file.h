#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger {

/// Writes {"http":34567,…} to `file`: how whoever started a daemon on port 0 learns the ports, and that it is ready.
/// Atomic: written beside, synced, renamed. An empty path does nothing.
/// Errors: kUnavailable with the system's reason.
[[nodiscard]] Result<void> write_port_file(const std::filesystem::path& file, const std::vector<std::pair<std::string_view, std::uint16_t>>& ports);

}  // namespace outrigger
