#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "lib/http/message.h"

namespace outrigger::http::internal {

/// IMF-fixdate (RFC 9110, 5.6.7).
using HttpDate = std::array<char, 29>;
[[nodiscard]] HttpDate format_date(std::time_t now);

/// How the end of a body is told.
enum class BodyFraming : std::uint8_t { kLength, kChunked, kUntilClose };

struct WriteOptions {
  std::string_view date;             ///< of now
  bool close = false;                ///< the connection ends with this answer
  bool is_head = false;              ///< the request was HEAD: no body goes out
  bool announce_keep_alive = false;  ///< the client is HTTP/1.0 and asked for it
  BodyFraming framing = BodyFraming::kLength;
  std::optional<std::uint64_t> length{};  ///< with kLength: of a body that comes later; nothing: `response.body` is all of it
};

/// Whether status and headers can be sent as they are: no name or value can begin another line.
[[nodiscard]] bool is_sendable(const Response& response);

/// Appends the head of an answer, which is_sendable().
void append_head(std::string& out, const Response& response, const WriteOptions& options);

/// Appends one chunk (RFC 9112, 7.1); the empty one ends the body.
void append_chunk_size(std::string& out, std::size_t bytes);

/// Whether the body follows the head: not for HEAD, 204 and 304.
[[nodiscard]] bool sends_body(const Response& response, const WriteOptions& options);

}  // namespace outrigger::http::internal
