#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/runtime/error.h"

namespace outrigger::cli {

/// The service's HTTP API as the commands use it. One connection, kept alive. Not thread-safe.
///
/// Errors of get() and post(): kUnavailable when nobody answers; for an answer that is an error, what its problem details say,
/// as kInvalidArgument (400, 422), kNotFound (404), kFailedPrecondition (409), kResourceExhausted (429, 503) or kInternal.
class ServiceClient final {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  /// `url` is "http://host:port" or https, with a path prefix or without. Errors: kInvalidArgument.
  [[nodiscard]] static Result<ServiceClient> make(const std::string& url);
  ~ServiceClient();
  ServiceClient(ServiceClient&&) noexcept;
  ServiceClient& operator=(ServiceClient&&) noexcept;

  /// `patience` is for the server to answer, on top of what connecting takes.
  [[nodiscard]] Result<nlohmann::ordered_json> get(const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds{5});
  [[nodiscard]] Result<nlohmann::ordered_json> post(const std::string& path, const std::string& json, const Headers& headers,
                                                    std::chrono::milliseconds patience = std::chrono::seconds{5});

 private:
  struct State;
  explicit ServiceClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Percent-encodes one path segment or query value (RFC 3986 unreserved characters stay).
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace outrigger::cli
