#pragma once

#include "lib/telemetry/metrics.h"

/// The metrics of sidecar/gateway. Label `code` is the status that the client got, `fault` the faults that were injected or "none",
/// `injected` "true" or "false".
namespace outrigger::gateway::metrics {

inline constexpr telemetry::MetricInfo kRequests{"outrigger_sidecar_http_requests_total",
                                                 "Requests that the proxy answered, by status code and injected fault."};
inline constexpr telemetry::MetricInfo kDuration{"outrigger_sidecar_http_request_duration_seconds",
                                                 "Time from a request's arrival at the proxy to its answer, injected delays included."};

}  // namespace outrigger::gateway::metrics
