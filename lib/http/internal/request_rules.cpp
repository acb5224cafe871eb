// What RFC 9112 leaves to the server once the head of a request is complete: version, method, framing and target.
#include <algorithm>

#include "lib/http/internal/request_parser.h"
#include "lib/http/internal/syntax.h"

namespace outrigger::http::internal {
namespace {

std::optional<Method> method_of(std::uint8_t method) {
  switch (method) {
    case HTTP_GET: return Method::kGet;
    case HTTP_HEAD: return Method::kHead;
    case HTTP_POST: return Method::kPost;
    case HTTP_PUT: return Method::kPut;
    case HTTP_PATCH: return Method::kPatch;
    case HTTP_DELETE: return Method::kDelete;
    case HTTP_OPTIONS: return Method::kOptions;
    default: return std::nullopt;
  }
}

}  // namespace

bool RequestParser::finish_head() {
  headers_.reserve(fields_.size());
  for (const auto& field : fields_) {
    headers_.push_back({text(field.name), trim(text(field.value))});
  }
  is_http10_ = parser_.http_minor == 0;
  if (parser_.http_major != 1 || parser_.http_minor > 1) {
    refusal_ = {505, "only HTTP/1.0 and HTTP/1.1 are spoken here", ""};
    return false;
  }
  const auto method = method_of(parser_.method);
  if (!method) {
    refusal_ = {501, "the method is not implemented", ""};
    return false;
  }
  method_ = *method;
  keeps_alive_ = llhttp_should_keep_alive(&parser_) == 1;
  return finish_framing() && finish_target();
}

bool RequestParser::finish_framing() {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t encodings = 0;
  for (const auto& [name, value] : headers_) {
    if (equal_ignoring_case(name, "host")) {
      ++hosts;
      if (!is_valid_host(value)) {
        refusal_ = {400, "Host is not a host name or address with an optional port", ""};
        return false;
      }
    } else if (equal_ignoring_case(name, "content-length")) {
      ++lengths;
    } else if (equal_ignoring_case(name, "transfer-encoding")) {
      ++encodings;
      if (!equal_ignoring_case(value, "chunked") || encodings > 1) {
        refusal_ = {501, "the only transfer coding understood is chunked, once", ""};
        return false;
      }
    } else if (equal_ignoring_case(name, "expect")) {
      if (!equal_ignoring_case(value, "100-continue")) {
        refusal_ = {417, "the only expectation understood is 100-continue", ""};
        return false;
      }
      wants_continue_ = !is_http10_;
    }
  }
  if (hosts > 1 || (hosts == 0 && !is_http10_)) {
    refusal_ = {400, "HTTP/1.1 wants exactly one Host field", ""};
  } else if (lengths > 1 || (lengths > 0 && encodings > 0)) {
    refusal_ = {400, "Content-Length is repeated or beside Transfer-Encoding", ""};
  } else if (encodings > 0 && is_http10_) {
    refusal_ = {400, "HTTP/1.0 has no Transfer-Encoding", ""};
  } else if (encodings == 0 && parser_.content_length > limits_.max_body_bytes) {
    refusal_ = kBodyTooLarge;
  }
  return refusal_.status == 0;
}

// Origin form, absolute form and "*" (RFC 9112, 3.2); the path is decoded here and nowhere else.
bool RequestParser::finish_target() {
  const std::string_view target(text_.data(), target_bytes_);
  std::size_t path_begin = 0;
  if (!target.starts_with('/') && !(target == "*" && method_ == Method::kOptions)) {
    const auto scheme = target.find("://");
    if (scheme == std::string_view::npos ||
        !(equal_ignoring_case(target.substr(0, scheme), "http") || equal_ignoring_case(target.substr(0, scheme), "https"))) {
      refusal_ = {400, "the request target is neither a path nor an http URI", ""};
      return false;
    }
    path_begin = std::min(target.find_first_of("/?#", scheme + 3), target.size());
    if (!is_valid_host(target.substr(scheme + 3, path_begin - scheme - 3))) {
      refusal_ = {400, "the authority of the request target is not a host", ""};
      return false;
    }
  }
  if (target.contains('#')) {
    refusal_ = {400, "the request target has a fragment", ""};
    return false;
  }
  const auto question = std::min(target.find('?', path_begin), target.size());
  path_ = {path_begin, question - path_begin};
  query_ = {std::min(question + 1, target.size()), target.size() - std::min(question + 1, target.size())};
  if (text(path_).contains('%')) {
    auto decoded = percent_decode(text(path_));
    if (!decoded) {
      refusal_ = {400, "the path has a broken escape, or one for NUL", ""};
      return false;
    }
    decoded_path_ = std::move(*decoded);
  }
  return true;
}

}  // namespace outrigger::http::internal
