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

void ServerMetrics::declare(const Router& router) {
  auto patterns = router.routes();
  if (router.serves_unmatched()) {
    patterns.emplace_back(Method::kGet, "*");
  }
  for (const auto& [method, pattern] : patterns) {
    for (const int status : {500, 503}) {
      counter(route(pattern), pattern, status);
    }
  }
  for (const auto limit : metrics::kLimits) {
    limits_.emplace(limit, &registry_.counter(metrics::kLimitReached, {{"listener", listener_}, {"limit", std::string(limit)}}));
  }
}

ServerMetrics::Route& ServerMetrics::route(std::string_view name) {
  auto found = routes_.find(name);
  if (found == routes_.end()) {
    auto& histogram = registry_.histogram(metrics::kDuration, telemetry::kLatencySeconds, {{"listener", listener_}, {"route", std::string(name)}});
    found = routes_.emplace(name, Route{&histogram, {}}).first;
  }
  return found->second;
}

telemetry::Counter& ServerMetrics::counter(Route& route, std::string_view name, int status) {
  auto& counter = route.by_status[status];
  if (counter == nullptr) {
    counter = &registry_.counter(metrics::kRequests, {{"listener", listener_}, {"route", std::string(name)}, {"code", std::to_string(status)}});
  }
  return *counter;
}

void ServerMetrics::answered(std::string_view name, int status, std::chrono::steady_clock::duration duration) {
  auto& answered_route = route(name);
  counter(answered_route, name, status).add();
  answered_route.duration->observe(duration);
}

void ServerMetrics::limit_reached(std::string_view limit) {
  if (const auto found = limits_.find(limit); found != limits_.end()) {
    found->second->add();
  } else {
    registry_.counter(metrics::kLimitReached, {{"listener", listener_}, {"limit", std::string(limit)}}).add();
  }
}

}  // namespace outrigger::http::internal
