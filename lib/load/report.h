#pragma once

#include <string>

#include "lib/load/histogram.h"
#include "lib/load/summary.h"

namespace outrigger::load {

/// The run as a table for people: rates, outcomes, quantiles from the intended and from the actual start, and whether the load was valid.
[[nodiscard]] std::string to_table(const Summary& summary, const Validity& validity);

/// The same and the series, as one JSON object. Durations are in seconds, as the names say.
[[nodiscard]] std::string to_json(const Summary& summary, const Validity& validity);

/// The percentile distribution in milliseconds, in the text format of HdrHistogram's plotting tools (.hgrm).
[[nodiscard]] std::string to_hgrm(const Histogram& histogram);

/// "12.3ms": four significant digits at most, the unit that reads best.
[[nodiscard]] std::string readable(std::chrono::nanoseconds duration);

}  // namespace outrigger::load
