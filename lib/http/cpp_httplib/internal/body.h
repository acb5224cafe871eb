#pragma once

#include <httplib.h>

#include <expected>
#include <string>

#include "lib/http/cpp_httplib/internal/multipart.h"

namespace outrigger::http::cpp_httplib::internal {

struct BodyLimits {
  std::size_t max_decoded_bytes;
  std::size_t max_form_bytes;
  MultipartLimits multipart;
};

/// Undoes Content-Encoding (gzip, deflate, br), never beyond the limit. 415 for another encoding.
[[nodiscard]] std::expected<std::string, BodyFault> decode_body(std::string body, const httplib::Request& request, std::size_t max_bytes);

/// What an ordinary handler finds: `files` of a multipart body, otherwise `body`, and of a form its `params` too.
[[nodiscard]] std::expected<void, BodyFault> fill_body(httplib::Request& request, std::string body, const BodyLimits& limits);

/// For a handler that reads for itself: the body, which must outlive it, in pieces. As in stock cpp-httplib a reader that fails, or
/// a receiver that returns false, sets the response's status. A multipart body is checked whole before its first part is given.
[[nodiscard]] httplib::ContentReader make_content_reader(const httplib::Request& request, httplib::Response& response, std::string_view body,
                                                         const BodyLimits& limits, std::function<void(std::string_view)> limit_reached);

}  // namespace outrigger::http::cpp_httplib::internal
