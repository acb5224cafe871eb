#include "lib/http/server.h"

#include <unistd.h>

#include "lib/http/internal/connection.h"
#include "lib/http/internal/listener.h"
#include "lib/http/internal/loop.h"
#include "lib/runtime/cpu.h"

namespace outrigger::http {

struct Server::State {
  State(ServerSettings settings, Router router, telemetry::Registry& registry) : shared(std::move(settings), std::move(router), registry) {}

  internal::ServerShared shared;
  std::vector<std::unique_ptr<internal::Loop>> loops;
  std::uint16_t port = 0;
  bool has_started = false;
};

Server::Server(ServerSettings settings, Router router, telemetry::Registry& registry)
    : state_(std::make_unique<State>(std::move(settings), std::move(router), registry)) {}

Server::~Server() { drain(std::chrono::steady_clock::now()); }

Result<void> Server::start() {
  if (std::exchange(state_->has_started, true)) {
    return fail(ErrorCode::kFailedPrecondition, "the server was started before: make another one");
  }
  const auto& settings = state_->shared.settings;
  const auto count = settings.loops != 0 ? settings.loops : available_cpus();
  const auto listeners = internal::open_listeners(settings.address, settings.port, count);
  if (!listeners) {
    state_->has_started = false;
    return std::unexpected(listeners.error());
  }
  state_->port = listeners->port;
  state_->shared.listeners = count;
  for (unsigned i = 0; i < count; ++i) {
    state_->loops.push_back(std::make_unique<internal::Loop>(state_->shared, i, listeners->sockets[i]));
  }
  for (auto& loop : state_->loops) {
    loop->start();
  }
  return {};
}

std::uint16_t Server::port() const { return state_->port; }

void Server::begin_drain() { state_->shared.is_draining.store(true); }

std::size_t Server::drain(std::chrono::steady_clock::time_point deadline) {
  begin_drain();
  auto& shared = state_->shared;
  for (const auto& loop : state_->loops) {
    loop->stop_accepting();
  }
  if (!state_->loops.empty()) {
    std::unique_lock lock(shared.mutex);
    shared.changed.wait_until(lock, deadline, [&] { return shared.listeners == 0 && shared.connections.load() == 0; });
  }
  std::size_t cut_off = 0;
  for (const auto& loop : state_->loops) {
    cut_off += loop->stop();
  }
  state_->loops.clear();
  return cut_off;
}

ServerStats Server::stats() const {
  ServerStats stats{.connections = state_->shared.connections.load()};
  for (const auto& loop : state_->loops) {
    stats.requests += loop->requests.load(std::memory_order_relaxed);
    stats.requests_in_flight += loop->in_flight.load(std::memory_order_relaxed);
  }
  return stats;
}

}  // namespace outrigger::http
