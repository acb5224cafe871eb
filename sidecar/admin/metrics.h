#pragma once

#include "lib/telemetry/metrics.h"

/// Metrics of the admin API.
namespace outrigger::admin::metrics {

/// Labels: method (CreateFault, …), code (ok, invalid_argument, …).
inline constexpr telemetry::MetricInfo kRequests{"outrigger_sidecar_admin_requests_total", "Calls of the gRPC admin API."};

}  // namespace outrigger::admin::metrics
