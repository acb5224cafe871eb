#include "lib/http/server.h"

#include <unistd.h>

#include <mutex>

#include "lib/http/internal/connection.h"
#include "lib/http/internal/listener.h"
#include "lib/http/internal/loop.h"
#include "lib/runtime/cpu.h"

namespace outrigger::http {

struct Server::State {
  State(ServerSettings settings, Router router, telemetry::Registry& registry) : shared(std::move(settings), std::move(router), registry) {}

  internal::ServerShared shared;
  std::mutex mutex;  ///< for loops, when somebody else than the one who starts and drains looks at them
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
  const std::lock_guard lock(state_->mutex);
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
  const std::lock_guard lock(state_->mutex);
  state_->loops.clear();
  return cut_off;
}

std::string_view name(RequestInFlight::Stage stage) {
  switch (stage) {
    case RequestInFlight::Stage::kHead: return "head";
    case RequestInFlight::Stage::kBody: return "body";
    case RequestInFlight::Stage::kHandler: return "handler";
    case RequestInFlight::Stage::kQueued: return "queued";
    case RequestInFlight::Stage::kStreaming: return "streaming";
    case RequestInFlight::Stage::kSending: return "sending";
  }
  return "head";
}

void Server::list_requests(std::size_t limit, std::function<void(std::vector<RequestInFlight>)> callback) const {
  // Calls back when the last loop has answered, or has dropped the question because it stops.
  struct Collector {
    explicit Collector(std::function<void(std::vector<RequestInFlight>)> to) : callback(std::move(to)) {}
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;
    ~Collector() { callback(std::move(requests)); }

    std::function<void(std::vector<RequestInFlight>)> callback;
    std::mutex mutex;
    std::vector<RequestInFlight> requests;
  };
  const auto collector = std::make_shared<Collector>(std::move(callback));
  const std::lock_guard lock(state_->mutex);
  for (const auto& loop : state_->loops) {
    loop->list_requests(limit, [collector](std::vector<RequestInFlight> part) {
      const std::lock_guard collecting(collector->mutex);
      collector->requests.insert(collector->requests.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
    });
  }
}

ServerStats Server::stats() const {
  const std::lock_guard lock(state_->mutex);
  ServerStats stats{.connections = state_->shared.connections.load()};
  for (const auto& loop : state_->loops) {
    stats.requests += loop->requests.load(std::memory_order_relaxed);
    stats.requests_in_flight += loop->in_flight.load(std::memory_order_relaxed);
  }
  return stats;
}

}  // namespace outrigger::http
