#include "sidecar/program/sidecar.h"

#include <atomic>
#include <csignal>
#include <format>

#include "lib/http/operations.h"
#include "lib/http/server.h"
#include "lib/http/upstream.h"
#include "lib/runtime/port_file.h"
#include "lib/telemetry/log.h"
#include "lib/telemetry/metrics.h"
#include "sidecar/admin/admin_server.h"
#include "sidecar/fault/engine.h"
#include "sidecar/gateway/proxy.h"

namespace outrigger::sidecar {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 500ms;  // for calls of the admin API and scrapes that are under way at the very end

constexpr telemetry::MetricInfo kBuild{"outrigger_build_info", "Always 1; the label says which release runs."};
constexpr telemetry::MetricInfo kLogDropped{"outrigger_log_records_dropped_total", "Log records dropped because the queue was full."};
constexpr telemetry::MetricInfo kDraining{"outrigger_sidecar_draining", "1 once the sidecar was told to stop."};

fault::Settings fault_settings(const SidecarSettings& settings) {
  fault::Settings made;
  made.is_enabled = settings.faults_enabled;
  made.max_faults = settings.max_faults;
  made.bounds = {.max_ttl = settings.max_fault_ttl, .max_delay = settings.max_fault_delay};
  return made;
}

}  // namespace

// In the order of their making; destroyed the other way round: nothing calls what is gone.
struct Sidecar::Parts {
  explicit Parts(const SidecarSettings& with)
      : settings(with), faults(fault_settings(with), registry), admin({.socket = with.admin_socket}, faults, registry) {}

  SidecarSettings settings;
  telemetry::Registry registry;
  std::atomic<bool> is_draining = false;
  fault::Engine faults;
  std::unique_ptr<http::Upstream> upstream;
  std::unique_ptr<gateway::Proxy> proxy;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<http::Server> health;
  admin::AdminServer admin;

  void make_proxy(const Endpoint& application) {
    upstream = std::make_unique<http::Upstream>(http::UpstreamSettings{.address = application.address,
                                                                       .port = application.port,
                                                                       .max_connections = settings.upstream_connections,
                                                                       .max_waiting = settings.upstream_waiting,
                                                                       .stall = settings.upstream_stall},
                                                registry);
    proxy = std::make_unique<gateway::Proxy>(
        gateway::ProxySettings{.deadline = settings.request_timeout}, *upstream,
        [this](const http::Request& request) { return faults.decide(request); }, registry);
    http::Router router;
    proxy->add_to(router);
    server = std::make_unique<http::Server>(http::ServerSettings{.name = "proxy",
                                                                 .address = settings.http_address,
                                                                 .port = settings.http_port,
                                                                 .loops = settings.http_loops,
                                                                 .max_connections = settings.max_connections,
                                                                 .max_body_bytes = settings.max_body_bytes},
                                            std::move(router), registry);
  }

  void make_health() {
    http::HealthChecks checks;
    // Nothing about the application: a Pod whose application is away is that container's business, and faults are nobody's.
    checks.readiness.push_back({"draining", [this]() -> Result<void> {
                                  return is_draining ? Result<void>(fail(ErrorCode::kUnavailable, "told to stop")) : Result<void>();
                                }});
    health = std::make_unique<http::Server>(
        http::ServerSettings{.name = "health", .address = settings.health_address, .port = settings.health_port, .loops = 1, .max_connections = 256},
        http::make_operations_router(registry, std::move(checks), {server.get()}), registry);
  }
};

Sidecar::Sidecar(const SidecarSettings& settings) : parts_(std::make_unique<Parts>(settings)) {
  parts_->registry.gauge(kBuild, {{"version", OUTRIGGER_VERSION}}).set(1);
  parts_->registry.counter_function(kLogDropped, [] { return static_cast<double>(telemetry::dropped_log_records()); });
  parts_->registry.gauge_function(kDraining, [parts = parts_.get()] { return parts->is_draining ? 1.0 : 0.0; });
}

Sidecar::~Sidecar() = default;

Result<void> Sidecar::start() {
  Parts& parts = *parts_;
  const auto application = parse_endpoint(parts.settings.upstream);
  if (!application) {
    return std::unexpected(application.error());
  }
  parts.make_proxy(*application);
  parts.make_health();
  // gRPC first: it sets the process's umask for a moment, so no other thread should run yet.
  if (auto started =
          parts.admin.start().and_then([&] { return parts.upstream->start(); }).and_then([&] { return parts.server->start(); }).and_then([&] {
            return parts.health->start();
          });
      !started) {
    return started;
  }
  telemetry::log(telemetry::LogLevel::kInfo, "ready",
                 {{"http", std::format("{}:{}", parts.settings.http_address, parts.server->port())},
                  {"health", std::format("{}:{}", parts.settings.health_address, parts.health->port())},
                  {"admin", parts.settings.admin_socket.string()},
                  {"upstream", parts.settings.upstream},
                  {"faults", parts.settings.faults_enabled ? "enabled" : "off"}});
  return write_port_file(parts.settings.port_file, {{"http", parts.server->port()}, {"health", parts.health->port()}});
}

void Sidecar::tick() { parts_->faults.sweep(); }

void Sidecar::disarm_all_faults() {
  const auto disarmed = parts_->faults.disarm_all(fault::DisarmReason::kKillSwitch);
  telemetry::log(telemetry::LogLevel::kWarning, "kill switch: every fault is disarmed", {{"faults", std::to_string(disarmed.size())}});
}

std::size_t Sidecar::drain(StopSignal& signals) {
  Parts& parts = *parts_;
  parts.is_draining = true;
  parts.faults.disarm_all(fault::DisarmReason::kDrain);
  parts.admin.begin_drain();
  parts.server->begin_drain();
  telemetry::log(telemetry::LogLevel::kInfo, "draining", {{"in_flight", std::to_string(parts.server->stats().requests_in_flight)}});
  const auto serves_until = std::chrono::steady_clock::now() + parts.settings.drain_delay;
  while (std::chrono::steady_clock::now() < serves_until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(serves_until - std::chrono::steady_clock::now());
    if (const auto signal = signals.wait_for(left); signal && signal != SIGUSR2) {
      break;
    }
  }
  const std::size_t cut_off = parts.server->drain(std::chrono::steady_clock::now() + parts.settings.drain_timeout);
  parts.admin.stop(kPatience);
  (void)parts.health->drain(std::chrono::steady_clock::now() + kPatience);
  telemetry::log(cut_off == 0 ? telemetry::LogLevel::kInfo : telemetry::LogLevel::kWarning, "stopped", {{"cut_off", std::to_string(cut_off)}});
  return cut_off;
}

}  // namespace outrigger::sidecar
