#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

#include "lib/http/response_stream.h"

namespace outrigger::http::cpp_httplib::internal {

/// What of a provider's content goes out.
struct ContentSpan {
  std::size_t offset = 0;
  std::optional<std::size_t> length;  ///< nothing: until the provider is done
};

struct ContentStreamLimits {
  std::chrono::milliseconds room;     ///< how long the client may take to make room; the engine cuts it off before
  std::function<bool()> is_stopping;  ///< a provider without length ends then, and its answer is cut
};

/// Runs the response's blocking content provider on the calling thread until its content is sent, waiting whenever the client reads
/// more slowly. Returns whether all was sent; otherwise the connection is cut, so that no client takes a part for the whole.
bool send_content(httplib::Response& response, ResponseStream stream, const ContentSpan& span, const ContentStreamLimits& limits);

}  // namespace outrigger::http::cpp_httplib::internal
