#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "lib/http/router.h"
#include "lib/http/upstream.h"
#include "lib/telemetry/metrics.h"
#include "sidecar/fault/engine.h"

namespace outrigger::gateway {

struct ProxySettings {
  std::string via = "outrigger";               ///< name in the header Via
  std::chrono::milliseconds deadline{60'000};  ///< for the application's whole answer; longer than any `?wait=` it offers
};

/// What to do to a request right before the upstream call; called once a request, on the I/O loop.
using FaultPoint = std::function<fault::Decision(const http::Request&)>;

/// Reverse proxy: every request that no route of the router takes goes to the application and its answer back.
///
/// Failures of the application are problem details: 503 with Retry-After when the request was not sent (no connection, or too
/// many wait), 504 when no answer came in time, 502 when the connection broke or the answer cannot be used. An injected delay
/// counts against the deadline as a slow application would, and holds no thread. A request that a fault was applied to is
/// answered with the header `outrigger-fault`.
///
/// Thread-safe. `upstream`, started, and `registry` must outlive it; it must outlive the server.
class Proxy final {
 public:
  Proxy(ProxySettings settings, http::Upstream& upstream, FaultPoint faults, telemetry::Registry& registry);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Call before the router goes into its server.
  void add_to(http::Router& router);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace outrigger::gateway
