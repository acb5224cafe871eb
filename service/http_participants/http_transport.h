#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "service/http_participants/circuit_breaker.h"
#include "service/saga/transport.h"

namespace outrigger::http_participants {

struct Settings {
  /// "host" or "host:port" that may be called; empty: every one that a definition names. Definitions are the operator's, so this is
  /// a second lock for those who let others write them. Answers never lead elsewhere: redirects are not followed.
  std::vector<std::string> allowed_hosts;
  std::size_t max_participants = 64;          ///< servers (host and port); each has a thread
  std::size_t concurrency = 32;               ///< requests at once, and connections kept, per participant
  std::size_t queue_capacity = 1'024;         ///< commands that wait, per participant
  std::size_t max_in_progress = 1'024;        ///< commands that were answered 202, per participant
  std::size_t max_answer_bytes = 64U << 10U;  ///< a body beyond it is a malformed answer
  std::chrono::milliseconds connect_timeout{1'000};
  std::chrono::milliseconds poll_interval{1'000};      ///< where a 202 has no Retry-After
  std::chrono::milliseconds resolve_interval{30'000};  ///< host names are looked up again so often, and when nobody answers
  CircuitBreaker::Settings circuit;
};

/// Brings commands to participants by HTTP: each a POST of JSON with its idempotency key, deadline, attempt and trace.
///
///     2xx, JSON or nothing                      SUCCESS, the body is the output
///     202 with Location                         IN_PROGRESS: asked there (Retry-After) until the step's timeout has passed again
///     409, 422 with a problem document          FAILED, its detail is the reason
///     429, 503 with Retry-After                 RETRY, not before that
///     all else, no answer, an unusable answer   unknown: RETRY at the step's own backoff, under the same key
///
/// Every participant (host and port) has its queue, its kept connections and its circuit breaker; while that is open, commands
/// are answered RETRY at the time of the next probe. Thread-safe.
class HttpTransport final : public saga::CommandTransport {
 public:
  HttpTransport(Settings settings, telemetry::Registry& registry);
  ~HttpTransport() override;

  /// Whether a destination is one of this carrier: a URL, where the others have topics.
  [[nodiscard]] static bool serves(std::string_view destination) { return destination.contains("://"); }
  /// Errors: kInvalidArgument, kUnimplemented, kPermissionDenied (the host is not allowed).
  [[nodiscard]] Result<void> check(std::string_view url) const;

  /// False: the participant's queue is full.
  [[nodiscard]] bool offer(const participant::Command& command) override;

  /// Before the first offer(). `replies` must outlive stop().
  void start(saga::ReplySink& replies);
  /// Cuts off what is under way (it is sent again after a restart), joins. Idempotent.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::http_participants
