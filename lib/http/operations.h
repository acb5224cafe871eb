#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/http/router.h"
#include "lib/http/server.h"
#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"

namespace outrigger::http {

/// One reason why a process may not be alive or ready. `check` runs on the operations loop for every probe: it must be
/// thread-safe and must not block; read a flag that something else keeps. It must stay valid as long as the server.
struct HealthCheck {
  std::string name;  ///< "journal", "listener", "draining": as `/readyz?verbose` prints it
  std::function<Result<void>()> check;
};

struct HealthChecks {
  /// Fails only when a restart would help: an event loop that hangs, never a dependency or an injected fault.
  std::vector<HealthCheck> liveness;
  /// Fails while no new work should be sent here.
  std::vector<HealthCheck> readiness;
};

/// The read-only operations port that every daemon has:
///
///   GET /livez, /readyz   200 "ok", or 503 and the list; with `?verbose` always the list, one "[+]name ok" or
///                         "[-]name failed: why" a line, as Kubernetes' own components print it
///   GET /healthz          the same as /livez
///   GET /requests         what `servers` are serving: {"requests":[{"listener","peer","method","route","stage","age_ms"}],"truncated"},
///                         the oldest first, at most 1,000
///   GET /metrics          the registry as Prometheus text or OpenMetrics, whichever the Accept header asks for
///
/// Give the router to a Server of its own, so that load on the main port cannot starve a probe. `registry` and `servers` must outlive it.
[[nodiscard]] Router make_operations_router(const telemetry::Registry& registry, HealthChecks checks, std::vector<const Server*> servers = {});

}  // namespace outrigger::http
