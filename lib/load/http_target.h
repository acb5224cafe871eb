#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/load/generator.h"
#include "lib/runtime/error.h"

namespace outrigger::load {

/// An http or https URL in the two parts that a client needs.
struct Url {
  std::string origin;  ///< "http://127.0.0.1:8000"
  std::string target;  ///< "/v1/orders?x=1", at least "/"
};

/// Errors: kInvalidArgument for another scheme, a missing host, user:password@, a bad port, a space or control character.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// What every request of a run looks like.
///
/// In target, header values and body, `{{sequence}}` stands for the request's number (from 0) and `{{run}}` for an id of this run:
/// `Idempotency-Key: {{run}}-{{sequence}}` makes every request a new one.
struct HttpRequest {
  std::string method = "GET";
  Url url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::chrono::nanoseconds timeout{std::chrono::seconds{5}};
};

/// Reads "Name: value". Errors: kInvalidArgument, also for CR, LF and NUL.
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_header(std::string_view text);

/// The text with {{sequence}} and {{run}} replaced.
[[nodiscard]] std::string expand(std::string_view text, std::string_view run_id, std::uint64_t sequence);

/// A keep-alive client connection (cpp-httplib) that sends `request`. Redirects are not followed: each answer is measured as it is.
[[nodiscard]] std::unique_ptr<Sender> make_http_sender(const HttpRequest& request, const std::string& run_id);

}  // namespace outrigger::load
