#pragma once

#include "lib/telemetry/metrics.h"

namespace outrigger::routes::metrics {

inline constexpr telemetry::MetricInfo kReadsQueued{"outrigger_api_reads_queued", "Reads of the store that wait for a thread."};
inline constexpr telemetry::MetricInfo kReadsRefused{"outrigger_api_reads_refused_total", "Reads answered 503 because too many wait."};

}  // namespace outrigger::routes::metrics
