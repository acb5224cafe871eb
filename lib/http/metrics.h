#pragma once

#include <array>
#include <string_view>

#include "lib/telemetry/metrics.h"

/// The metrics of lib/http. Labels: `listener` is ServerSettings::name, `route` the pattern ("*" unmatched, "none" no route, "invalid"
/// a request that was refused before it had one), `code` the status,
/// `upstream` UpstreamSettings::name.
namespace outrigger::http::metrics {

inline constexpr telemetry::MetricInfo kRequests{"outrigger_http_requests_total", "Requests answered, by listener, route pattern and status code."};
inline constexpr telemetry::MetricInfo kDuration{
    "outrigger_http_request_duration_seconds",
    "Time from the complete request to its answer (a stream: its head) being handed to the socket, by listener and route."};
inline constexpr telemetry::MetricInfo kConnections{"outrigger_http_connections", "Open connections by listener."};
inline constexpr telemetry::MetricInfo kInFlight{"outrigger_http_requests_in_flight", "Requests that wait for their deferred answer, by listener."};
inline constexpr telemetry::MetricInfo kStreams{"outrigger_http_streams",
                                                "Streamed answers whose head has gone out and whose end has not, by listener."};
inline constexpr telemetry::MetricInfo kStreamsCut{"outrigger_http_streams_cut_total",
                                                   "Streamed answers that the handler gave up before their end; the connection was cut."};
inline constexpr telemetry::MetricInfo kLimitReached{"outrigger_http_limit_reached_total",
                                                     "How often a limit of the listener was reached, by limit."};
/// Values of the label `limit`; each has a series from the start, so that a rate over the first one is seen.
inline constexpr std::array<std::string_view, 14> kLimits{
    "connections", "file_descriptors", "event_registration", "target_bytes", "head_bytes",     "header_fields", "head_deadline",
    "body_bytes",  "chunk_framing",    "body_idle",          "body_rate",    "write_deadline", "idle",          "stream_buffer"};
inline constexpr telemetry::MetricInfo kHandlerErrors{"outrigger_http_handler_errors_total",
                                                      "Handlers that threw, or whose answer could not be sent; the client got 500."};

inline constexpr telemetry::MetricInfo kUpstreamRequests{
    "outrigger_http_upstream_requests_total",
    "Requests to the upstream by result: answered, cancelled (its reader went), or why there is no whole answer."};
inline constexpr telemetry::MetricInfo kUpstreamConnections{"outrigger_http_upstream_connections",
                                                            "Connections to the upstream, kept ones included."};
inline constexpr telemetry::MetricInfo kUpstreamWaiting{"outrigger_http_upstream_waiting", "Requests that wait for a connection to the upstream."};
inline constexpr telemetry::MetricInfo kUpstreamResent{"outrigger_http_upstream_resent_total",
                                                       "Requests that met a dead kept connection before a byte was sent, and went out on another."};

}  // namespace outrigger::http::metrics
