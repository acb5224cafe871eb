#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/runtime/error.h"

namespace outrigger::http {

/// An absolute http URL (RFC 3986), taken apart for a client.
struct Url {
  std::string host;  ///< a name in lower case, an IPv4 address, or an IPv6 address without its brackets
  std::uint16_t port = 80;
  std::string target;  ///< path and query as they stand in a request line; at least "/"

  /// "host:port", an IPv6 address in brackets: what a Host header says and what one server is named by.
  [[nodiscard]] std::string authority() const;
  bool operator==(const Url&) const = default;
};

/// Strict: what two readers could read differently (user information, a fragment, a broken escape, an octal-looking address) is refused.
/// Errors: kInvalidArgument, and kUnimplemented for https; the message says what to write instead.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// What a server's Location names, seen from the URL that was asked: an absolute path, or an absolute URL.
/// Errors: those of parse_url; kPermissionDenied when it leads to another server.
[[nodiscard]] Result<Url> follow(const Url& base, std::string_view location);

}  // namespace outrigger::http
