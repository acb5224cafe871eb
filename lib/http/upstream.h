#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/http/message.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"

namespace outrigger::http {

/// Every bound of the client. What is reached counts in `outrigger_http_upstream_requests_total{upstream,result}`.
struct UpstreamSettings {
  std::string name = "app";           ///< label `upstream` of the metrics
  std::string address = "127.0.0.1";  ///< IPv4 or IPv6 literal
  std::uint16_t port = 0;
  unsigned loops = 1;  ///< threads; connections and queue are split among them
  std::size_t max_connections = 128;
  std::size_t max_waiting = 1'024;  ///< requests that wait for a connection
  std::size_t max_body_bytes = 16U << 20U;
  std::size_t max_head_bytes = 64U << 10U;
  std::size_t max_header_fields = 200;
  std::chrono::milliseconds connect_deadline{1'000};
  std::chrono::milliseconds stall{60'000};  ///< longest silence in the midst of a body that is read as it comes
  std::chrono::milliseconds idle{15'000};   ///< shorter than the server's, so that a request does not meet its closing
};

/// `headers` includes Host and excludes Content-Length, Transfer-Encoding and Connection: those are the client's business.
struct UpstreamRequest {
  Method method = Method::kGet;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  MonotonicTime deadline;  ///< absolute: for the wait, the connection and the whole answer
};

/// Steers an answer whose body is read as it comes. Copies steer the same answer. Any thread; after its end nothing happens.
class AnswerFlow final {
 public:
  AnswerFlow() = default;
  explicit AnswerFlow(std::function<void(bool read_on)> steer) : steer_(std::move(steer)) {}
  void resume() const { steer(true); }
  /// Closes the connection. The reader hears nothing more of it.
  void cancel() const { steer(false); }

 private:
  void steer(bool read_on) const {
    if (steer_) {
      steer_(read_on);
    }
  }
  std::function<void(bool read_on)> steer_;
};

/// Who reads an answer as it comes. Called on a loop thread of the client, one call at a time; none may block.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  /// An answer that came whole at once, or an error: nothing follows. Errors as Upstream::Callback's.
  virtual void answered(Result<Response> answer) = 0;
  /// The head, with the beginning of the body; `body_length` is the whole body's, if the server says. more() and ended() follow.
  virtual void began(Response head, std::optional<std::uint64_t> body_length, AnswerFlow flow) = 0;
  /// False: no room. What has come is taken, and no more is read until AnswerFlow::resume().
  virtual bool more(std::string bytes) = 0;
  /// The body is whole, or the error says why it never will be: kAborted, kDataLoss, kDeadlineExceeded (UpstreamSettings::stall),
  /// kUnavailable (the client is stopping).
  virtual void ended(Result<void> result) = 0;
};

/// Asynchronous HTTP/1.1 client of one server: kept connections, bounded in number, and a bounded queue in front of them.
///
/// A request goes out again by itself in one case only: on a kept connection that turned out dead before a byte was sent.
/// Everything else is the caller's decision. Bodies are held whole, but for answers read with read(). Thread-safe; `registry` must outlive it.
class Upstream final {
 public:
  /// Errors: kUnavailable (no connection: the request was not sent), kResourceExhausted (the queue is full: not sent),
  /// kDeadlineExceeded, kAborted (the connection broke: it may have been served), kDataLoss (the answer is malformed or too
  /// large), kInvalidArgument (the request cannot be written as HTTP).
  using Callback = std::move_only_function<void(Result<Response>)>;

  Upstream(UpstreamSettings settings, telemetry::Registry& registry);
  ~Upstream();  ///< what is under way ends with kUnavailable
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  /// Starts the loops; connects only when a request needs it. Errors: kInvalidArgument when the address is none.
  [[nodiscard]] Result<void> start();

  /// Calls back exactly once, on a loop thread of the client: the callback must not block.
  void send(UpstreamRequest request, Callback callback);

  /// The same, for an answer of any length: its body is handed on as it comes, and max_body_bytes does not hold. The request's
  /// deadline is for the head; from there on UpstreamSettings::stall counts, while the reader has room.
  void read(UpstreamRequest request, std::shared_ptr<AnswerReader> reader);

  /// Runs the task on a loop thread after the delay, without holding a thread; not at all if the client ends first.
  void run_after(std::chrono::nanoseconds delay, std::move_only_function<void()> task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outrigger::http
