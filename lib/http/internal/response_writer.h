#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "lib/http/message.h"

namespace outrigger::http::internal {

/// IMF-fixdate (RFC 9110, 5.6.7).
[[nodiscard]] std::string format_date(std::time_t now);

struct WriteOptions {
  std::string_view date;             ///< of now
  bool close = false;                ///< the connection ends with this answer
  bool is_head = false;              ///< the request was HEAD: no body goes out
  bool announce_keep_alive = false;  ///< the client is HTTP/1.0 and asked for it
};

/// Whether status and headers can be sent as they are: no name or value can begin another line.
[[nodiscard]] bool is_sendable(const Response& response);

/// Appends the head of an answer, which is_sendable().
void append_head(std::string& out, const Response& response, const WriteOptions& options);

/// Whether the body follows the head: not for HEAD, 204 and 304.
[[nodiscard]] bool sends_body(const Response& response, const WriteOptions& options);

}  // namespace outrigger::http::internal
