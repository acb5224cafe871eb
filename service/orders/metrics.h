#pragma once

#include "lib/telemetry/metrics.h"

/// Every metric of the in-process participants; label `participant`.
namespace outrigger::orders::metrics {

inline constexpr telemetry::MetricInfo kQueueLength{"outrigger_participant_queue_length", "Commands waiting for an in-process participant."};
inline constexpr telemetry::MetricInfo kQueueFull{"outrigger_participant_queue_full_total",
                                                  "Commands that found the queue of an in-process participant full."};
inline constexpr telemetry::MetricInfo kRepliesDropped{"outrigger_participant_replies_dropped_total",
                                                       "Replies that the engine did not take; their commands are sent again."};

}  // namespace outrigger::orders::metrics
