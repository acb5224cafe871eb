#pragma once

#include <httplib.h>

#include <optional>
#include <string_view>

#include "lib/http/cpp_httplib/internal/content_stream.h"
#include "lib/http/message.h"

namespace outrigger::http::cpp_httplib::internal {

/// The ranges of a Range header; nothing when it is malformed. More than 16 count as none: the answer is then the whole.
[[nodiscard]] std::optional<httplib::Ranges> parse_ranges(std::string_view value);

/// Turns set_file_content() into a content provider, or into 404 when the file cannot be read.
void open_file_content(httplib::Response& response);

/// Whether a provider makes the content: a body, as an error handler sets one, comes before it.
[[nodiscard]] bool is_provided(const httplib::Response& response);

/// The one range that the client asked for as part of the content, with the headers of 206 set, or the whole; an unsatisfiable one
/// makes the answer 416 without content. `is_rangeable`: the handler left the status to the server.
[[nodiscard]] ContentSpan apply_range(const httplib::Request& request, httplib::Response& response, bool is_rangeable);

/// Status and headers as the engine sends them, with Content-Type where it is missing; no body.
[[nodiscard]] Response make_head(const httplib::Response& response);

}  // namespace outrigger::http::cpp_httplib::internal
