#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/http/router.h"
#include "lib/telemetry/metrics.h"

namespace outrigger::http::internal {

/// The counters of one loop: looks a series up in the registry once, then finds it without a lock. Not thread-safe.
class ServerMetrics final {
 public:
  ServerMetrics(telemetry::Registry& registry, std::string listener);

  /// Makes what alerts are computed from appear at 0: a counter that is born with the first error shows no increase. `router` must
  /// outlive this object.
  void declare(const Router& router);
  /// `route` must live as long as this object: the router's pattern or a literal.
  void answered(std::string_view route, int status, std::chrono::steady_clock::duration duration);
  void limit_reached(std::string_view limit);
  void handler_failed() { handler_errors_.add(); }
  void connections(int change) { connections_.add(change); }
  void streams(int change) { streams_.add(change); }
  void stream_was_cut() { streams_cut_.add(); }
  void in_flight(int change) { in_flight_.add(change); }

 private:
  struct Route {
    telemetry::Histogram* duration;
    std::unordered_map<int, telemetry::Counter*> by_status;
  };

  Route& route(std::string_view name);
  telemetry::Counter& counter(Route& route, std::string_view name, int status);

  telemetry::Registry& registry_;
  std::string listener_;
  std::unordered_map<std::string_view, Route> routes_;
  std::unordered_map<std::string_view, telemetry::Counter*> limits_;
  telemetry::Gauge& connections_;
  telemetry::Gauge& in_flight_;
  telemetry::Gauge& streams_;
  telemetry::Counter& streams_cut_;
  telemetry::Counter& handler_errors_;
};

}  // namespace outrigger::http::internal
