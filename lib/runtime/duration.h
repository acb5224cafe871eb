#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "lib/runtime/error.h"

namespace outrigger {

/// Reads "300ms", "1.5s", "2m", "1h", "1m30s", "7d", as Prometheus and Go write durations. Units: ns, us, ms, s, m, h, d.
/// A plain number has no unit and is refused, except "0". Never negative.
/// Errors: kInvalidArgument, with what was read and an example.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The shortest exact text of a duration, such as "1m30s" or "250ms".
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace outrigger
