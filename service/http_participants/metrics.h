#pragma once

#include "lib/telemetry/metrics.h"

/// Every metric of the participants that are called by HTTP; label `participant` is "host:port".
namespace outrigger::http_participants::metrics {

/// label `result`: success, in_progress, refused, retry; unknown outcomes: status, malformed, deadline, unreachable, broken; not sent:
/// circuit_open, expired, unresolved, forbidden
inline constexpr telemetry::MetricInfo kCommands{"outrigger_http_participant_commands_total",
                                                 "Commands to participants called by HTTP, by what came of them."};
inline constexpr telemetry::MetricInfo kPolls{"outrigger_http_participant_polls_total", "Requests that asked how an accepted command is getting on."};
inline constexpr telemetry::MetricInfo kDuration{"outrigger_http_participant_request_duration_seconds",
                                                 "Time from sending a command by HTTP to its answer, or to giving up."};
inline constexpr telemetry::MetricInfo kInFlight{"outrigger_http_participant_requests_in_flight", "Commands that wait for their answer by HTTP."};
inline constexpr telemetry::MetricInfo kInProgress{"outrigger_http_participant_in_progress", "Commands that were answered 202 and are asked after."};
inline constexpr telemetry::MetricInfo kQueueLength{"outrigger_http_participant_queue_length", "Commands that wait until they may be sent by HTTP."};
inline constexpr telemetry::MetricInfo kQueueFull{"outrigger_http_participant_queue_full_total",
                                                  "Commands that found the queue of a participant full."};
inline constexpr telemetry::MetricInfo kCircuitState{"outrigger_http_participant_circuit_state", "Circuit breaker: 0 closed, 1 half-open, 2 open."};
inline constexpr telemetry::MetricInfo kCircuitOpened{"outrigger_http_participant_circuit_opened_total", "How often the circuit breaker opened."};
inline constexpr telemetry::MetricInfo kRepliesDropped{"outrigger_http_participant_replies_dropped_total",
                                                       "Replies that the engine did not take; their commands are sent again."};

}  // namespace outrigger::http_participants::metrics
