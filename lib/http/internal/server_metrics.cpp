#include "lib/http/internal/server_metrics.h"

#include "lib/http/metrics.h"

namespace outrigger::http::internal {

ServerMetrics::ServerMetrics(telemetry::Registry& registry, std::string listener)
    : registry_(registry),
      listener_(std::move(listener)),
      connections_(registry.gauge(metrics::kConnections, {{"listener", listener_}})),
      in_flight_(registry.gauge(metrics::kInFlight, {{"listener", listener_}})),
      streams_(registry.gauge(metrics::kStreams, {{"listener", listener_}})),
      streams_cut_(registry.counter(metrics::kStreamsCut, {{"listener", listener_}})),
      handler_errors_(registry.counter(metrics::kHandlerErrors, {{"listener", listener_}})) {}

void ServerMetrics::answered(std::string_view route, int status, std::chrono::steady_clock::duration duration) {
  auto found = routes_.find(route);
  if (found == routes_.end()) {
    auto& histogram = registry_.histogram(metrics::kDuration, telemetry::kLatencySeconds, {{"listener", listener_}, {"route", std::string(route)}});
    found = routes_.emplace(route, Route{&histogram, {}}).first;
  }
  auto& counter = found->second.by_status[status];
  if (counter == nullptr) {
    counter = &registry_.counter(metrics::kRequests, {{"listener", listener_}, {"route", std::string(route)}, {"code", std::to_string(status)}});
  }
  counter->add();
  found->second.duration->observe(duration);
}

void ServerMetrics::limit_reached(std::string_view limit) {
  registry_.counter(metrics::kLimitReached, {{"listener", listener_}, {"limit", std::string(limit)}}).add();
}

}  // namespace outrigger::http::internal
