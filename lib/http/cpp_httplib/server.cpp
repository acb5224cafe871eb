#include "lib/http/cpp_httplib/server.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "lib/http/cpp_httplib/internal/service.h"
#include "lib/telemetry/log.h"

namespace outrigger::http::cpp_httplib {
namespace {

constexpr std::chrono::seconds kReadyDeadline{30};

// The engine binds literals; programs written for cpp-httplib say "localhost".
std::optional<std::string> resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "0", &hints, &found) != 0) {
    return std::nullopt;
  }
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  return failed == 0 ? std::optional<std::string>(text.data()) : std::nullopt;
}

std::chrono::milliseconds milliseconds(time_t seconds, time_t microseconds) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::seconds(seconds) + std::chrono::microseconds(microseconds));
}

struct EngineRoute {
  Method method;
  std::string pattern;
  LoopHandler loop;
  DeferredHandler deferred;
};

}  // namespace

struct Server::State {
  State(Settings all_settings, std::unique_ptr<telemetry::Registry> own, telemetry::Registry* shared)
      : settings(std::move(all_settings)), own_registry(std::move(own)), registry(shared != nullptr ? *shared : *own_registry) {}

  bool bind(const std::string& host, int port);

  Settings settings;
  std::unique_ptr<telemetry::Registry> own_registry;
  telemetry::Registry& registry;
  internal::Handlers handlers;
  std::vector<EngineRoute> engine_routes;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::unique_ptr<internal::Service> service;  // from bind to the end of listen_after_bind(), as `engine`
  std::unique_ptr<http::Server> engine;        // goes first: its loops call the service
  bool is_listening = false;
  bool is_stopping = false;
  bool could_not_bind = false;
};

bool Server::State::bind(const std::string& host, int port) {
  const std::scoped_lock lock(mutex);
  if (engine != nullptr || port < 0 || port > 65'535) {
    return false;
  }
  const auto address = resolve(host);
  auto server_settings = settings.server;
  server_settings.address = address.value_or(host);
  server_settings.port = static_cast<std::uint16_t>(port);
  service = std::make_unique<internal::Service>(handlers, settings, server_settings.address, registry);
  Router router;
  for (const auto& route : engine_routes) {
    if (route.loop) {
      router.handle(route.method, route.pattern, route.loop);
    } else {
      router.defer(route.method, route.pattern, route.deferred);
    }
  }
  router.defer_unmatched([taker = service.get()](Request request, Responder responder) { taker->take(std::move(request), std::move(responder)); });
  engine = std::make_unique<http::Server>(std::move(server_settings), std::move(router), registry);
  const auto started = engine->start();
  could_not_bind = !started.has_value();
  if (could_not_bind) {
    telemetry::log(telemetry::LogLevel::kError, "the server could not bind", {{"host", host}, {"error", started.error().to_string()}});
    engine.reset();
    service.reset();
    changed.notify_all();
  }
  is_stopping = false;
  return !could_not_bind;
}

Server::Server() : Server(Settings{}) {}
Server::Server(Settings settings) : state_(std::make_unique<State>(std::move(settings), std::make_unique<telemetry::Registry>(), nullptr)) {}
Server::Server(Settings settings, telemetry::Registry& registry) : state_(std::make_unique<State>(std::move(settings), nullptr, &registry)) {}
Server::~Server() = default;

Server& Server::Get(const std::string& pattern, Handler handler) {
  state_->handlers.routes.add(Method::kGet, pattern, std::move(handler));
  return *this;
}

Server& Server::Post(const std::string& pattern, Handler handler) {
  state_->handlers.routes.add(Method::kPost, pattern, std::move(handler));
  return *this;
}

Server& Server::Post(const std::string& pattern, HandlerWithContentReader handler) {
  state_->handlers.routes.add(Method::kPost, pattern, std::move(handler));
  return *this;
}

Server& Server::Put(const std::string& pattern, Handler handler) {
  state_->handlers.routes.add(Method::kPut, pattern, std::move(handler));
  return *this;
}

Server& Server::Put(const std::string& pattern, HandlerWithContentReader handler) {
  state_->handlers.routes.add(Method::kPut, pattern, std::move(handler));
  return *this;
}

Server& Server::Patch(const std::string& pattern, Handler handler) {
  state_->handlers.routes.add(Method::kPatch, pattern, std::move(handler));
  return *this;
}

Server& Server::Patch(const std::string& pattern, HandlerWithContentReader handler) {
  state_->handlers.routes.add(Method::kPatch, pattern, std::move(handler));
  return *this;
}

Server& Server::Delete(const std::string& pattern, Handler handler) {
  state_->handlers.routes.add(Method::kDelete, pattern, std::move(handler));
  return *this;
}

Server& Server::Delete(const std::string& pattern, HandlerWithContentReader handler) {
  state_->handlers.routes.add(Method::kDelete, pattern, std::move(handler));
  return *this;
}

Server& Server::Options(const std::string& pattern, Handler handler) {
  state_->handlers.routes.add(Method::kOptions, pattern, std::move(handler));
  return *this;
}

Server& Server::handle_on_loop(Method method, const std::string& pattern, LoopHandler handler) {
  state_->engine_routes.push_back({method, pattern, std::move(handler), {}});
  return *this;
}

Server& Server::defer(Method method, const std::string& pattern, DeferredHandler handler) {
  state_->engine_routes.push_back({method, pattern, {}, std::move(handler)});
  return *this;
}

Server& Server::set_error_handler_with_response(HandlerWithResponse handler) {
  state_->handlers.error = std::move(handler);
  return *this;
}

Server& Server::set_exception_handler(ExceptionHandler handler) {
  state_->handlers.exception = std::move(handler);
  return *this;
}

Server& Server::set_pre_routing_handler(HandlerWithResponse handler) {
  state_->handlers.pre_routing = std::move(handler);
  return *this;
}

Server& Server::set_post_routing_handler(Handler handler) {
  state_->handlers.post_routing = std::move(handler);
  return *this;
}

Server& Server::set_logger(httplib::Logger logger) {
  state_->handlers.logger = std::move(logger);
  return *this;
}

Server& Server::set_default_headers(httplib::Headers headers) {
  state_->handlers.default_headers = std::move(headers);
  return *this;
}

Server& Server::set_payload_max_length(std::size_t bytes) {
  state_->settings.server.max_body_bytes = bytes;
  return *this;
}

Server& Server::set_keep_alive_timeout(time_t seconds) {
  state_->settings.server.idle = std::chrono::seconds(seconds);
  return *this;
}

Server& Server::set_read_timeout(time_t seconds, time_t microseconds) {
  state_->settings.server.head_deadline = state_->settings.server.body_idle = milliseconds(seconds, microseconds);
  return *this;
}

Server& Server::set_write_timeout(time_t seconds, time_t microseconds) {
  state_->settings.server.write_deadline = milliseconds(seconds, microseconds);
  return *this;
}

bool Server::bind_to_port(const std::string& host, int port) { return state_->bind(host, port); }

int Server::bind_to_any_port(const std::string& host) {
  if (!state_->bind(host, 0)) {
    return -1;
  }
  const std::scoped_lock lock(state_->mutex);
  return state_->engine->port();
}

bool Server::listen_after_bind() {
  auto& state = *state_;
  std::unique_lock lock(state.mutex);
  if (state.engine == nullptr || state.is_listening) {
    return false;
  }
  state.is_listening = true;
  state.service->open(state.engine->port());
  state.changed.notify_all();
  state.changed.wait(lock, [&state] { return state.is_stopping; });
  // Unlocked: handlers under way may ask is_running(), or call stop() again.
  lock.unlock();
  state.service->end_streams();
  state.engine->drain(std::chrono::steady_clock::now() + state.settings.drain);
  state.service->close();
  lock.lock();
  state.engine.reset();
  state.service.reset();
  state.is_listening = state.is_stopping = false;
  state.changed.notify_all();
  return true;
}

bool Server::listen(const std::string& host, int port) { return bind_to_port(host, port) && listen_after_bind(); }

void Server::stop() {
  const std::scoped_lock lock(state_->mutex);
  state_->is_stopping = state_->engine != nullptr;
  state_->changed.notify_all();
}

bool Server::is_running() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->is_listening;
}

void Server::wait_until_ready() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, kReadyDeadline, [this] { return state_->is_listening || state_->could_not_bind; });
}

telemetry::Registry& Server::registry() const { return state_->registry; }

}  // namespace outrigger::http::cpp_httplib
