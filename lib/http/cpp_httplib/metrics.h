#pragma once

#include "lib/telemetry/metrics.h"

/// The metrics of the cpp-httplib adapter, beside those of lib/http/metrics.h. Labels: `listener` as there, `pool` is "handlers" or
/// "providers", `route` the pattern as it was registered. Limits count in `outrigger_http_limit_reached_total`: `handlers_queue`,
/// `providers_queue`, `multipart_parts`, `multipart_part_head_bytes`, `form_bytes`, `decoded_body_bytes`.
namespace outrigger::http::cpp_httplib::metrics {

inline constexpr telemetry::MetricInfo kPoolWaiting{"outrigger_http_pool_waiting", "Requests that wait for a thread of the pool."};
inline constexpr telemetry::MetricInfo kPoolBusy{"outrigger_http_pool_busy", "Threads of the pool that are at work."};
inline constexpr telemetry::MetricInfo kHandlerDuration{"outrigger_http_pool_handler_duration_seconds",
                                                        "Time a handler held its thread, by listener and route."};

}  // namespace outrigger::http::cpp_httplib::metrics
