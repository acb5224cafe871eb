#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/http/message.h"
#include "lib/http/upstream.h"
#include "lib/http/url.h"
#include "lib/participant/message.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"

/// A command as a request, and what its answer means. Pure.
namespace outrigger::http_participants {

/// The body is the same, byte for byte, however often the command is sent: participants may fingerprint it.
[[nodiscard]] http::UpstreamRequest make_request(const participant::Command& command, const http::Url& url, MonotonicTime now,
                                                 MonotonicTime deadline);
/// Asks how an accepted command is getting on; `url` is where its 202 pointed.
[[nodiscard]] http::UpstreamRequest make_poll(const participant::Command& command, const http::Url& url, MonotonicTime now, MonotonicTime deadline);

struct Verdict {
  enum class Kind : std::uint8_t {
    kSuccess,
    kFailed,      ///< a business refusal: definite, no effect
    kInProgress,  ///< ask at `location`
    kRetry,       ///< the participant said when to come again
    kUnknown,     ///< may have had its effect or not
  };
  Kind kind = Kind::kUnknown;
  std::string_view result = {};  ///< label of the metric
  std::string output = {};       ///< JSON text, or empty
  std::string reason = {};
  std::optional<std::chrono::milliseconds> retry_after = {};
  std::optional<http::Url> location = {};

  /// The answer kept to the protocol: the server is alive, whatever it said. The circuit breaker goes by this.
  [[nodiscard]] bool is_healthy() const { return kind != Kind::kUnknown; }
};

[[nodiscard]] Verdict judge(const http::Url& url, const Result<http::Response>& answer, WallTime now);

/// RFC 9110, 10.2.3: seconds or a date; nothing when it is neither. A time in the past is zero.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, WallTime now);

}  // namespace outrigger::http_participants
