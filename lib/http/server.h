#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/http/router.h"
#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"

namespace outrigger::http {

/// Every bound of the server. Each limit that is reached counts in `outrigger_http_limit_reached_total{listener,limit}`.
struct ServerSettings {
  std::string name = "main";          ///< label `listener` of the metrics
  std::string address = "127.0.0.1";  ///< IPv4 or IPv6 literal; "::" listens on both families
  std::uint16_t port = 0;             ///< 0: any free port, then see Server::port()
  unsigned loops = 0;                 ///< event loops; 0: one a CPU that the cgroup grants
  std::size_t max_connections = 10'000;
  std::size_t max_body_bytes = 4U << 20U;
  std::size_t max_target_bytes = 8U << 10U;
  std::size_t max_head_bytes = 32U << 10U;
  std::size_t max_header_fields = 100;
  std::chrono::milliseconds head_deadline{5'000};    ///< from the first byte of a request to the end of its head, absolute
  std::chrono::milliseconds body_idle{5'000};        ///< without a byte of the body
  std::size_t min_body_bytes_per_second = 1'024;     ///< over the whole body, after the first second
  std::chrono::milliseconds write_deadline{10'000};  ///< for the client to take an answer; more only while it takes min_body_bytes_per_second
  std::size_t stream_buffer_bytes = 64U << 10U;      ///< of a streamed answer, before its writer must wait for the client
  std::chrono::milliseconds idle{30'000};            ///< keep-alive without a request
};

struct ServerStats {
  std::size_t connections = 0;
  std::size_t requests_in_flight = 0;
  std::uint64_t requests = 0;
};

/// A request that has begun to arrive and whose answer is not yet with the kernel.
struct RequestInFlight {
  enum class Stage : std::uint8_t { kHead, kBody, kHandler, kQueued, kStreaming, kSending };
  std::string listener;
  std::string peer;                           ///< address and port of the socket
  std::string method;                         ///< empty before the head is complete
  std::string route;                          ///< the pattern; empty before the request is complete
  std::chrono::steady_clock::duration age{};  ///< since its head began, with kHandler and later since it was complete
  Stage stage = Stage::kHead;
};

/// "head", "body", "handler", "queued" (answered, but behind an earlier answer), "streaming", "sending".
[[nodiscard]] std::string_view name(RequestInFlight::Stage stage);

/// Event-driven HTTP/1.1 server: Asio loops, llhttp in strict mode, the framing rules of RFC 9112 without leniency.
///
/// Thread-safe. Routes are fixed when it is made. `registry` must outlive it. The destructor closes what is open.
class Server final {
 public:
  Server(ServerSettings settings, Router router, telemetry::Registry& registry);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Binds, then starts the loops.
  /// Errors: kUnavailable when the address is taken (also by another SO_REUSEPORT server), kInvalidArgument when it is none.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] std::uint16_t port() const;

  /// From now on answers carry `Connection: close`; connections are still accepted, so that late clients are served.
  void begin_drain();

  /// Stops accepting, empties the accept queues, closes idle connections, waits for requests in flight until `deadline`.
  /// Returns how many were cut off: 0 is a clean stop. The server cannot be started again.
  std::size_t drain(std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] ServerStats stats() const;

  /// Calls back once, on some thread, with what is under way, at most `limit` a loop; at once and with nothing when it does not run.
  void list_requests(std::size_t limit, std::function<void(std::vector<RequestInFlight>)> callback) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outrigger::http
