#pragma once

#include "lib/telemetry/metrics.h"

namespace outrigger::routes::metrics {

inline constexpr telemetry::MetricInfo kReadsQueued{"outrigger_api_reads_queued", "Reads of the store that wait for a thread."};
inline constexpr telemetry::MetricInfo kReadsRefused{"outrigger_api_reads_refused_total", "Reads answered 503 because too many wait."};
inline constexpr telemetry::MetricInfo kStreamsOpen{"outrigger_api_event_streams", "Open streams of a saga's events."};
inline constexpr telemetry::MetricInfo kStreamsRefused{"outrigger_api_event_streams_refused_total",
                                                       "Streams of events answered 503 because too many are open."};

}  // namespace outrigger::routes::metrics
