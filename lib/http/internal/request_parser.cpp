#include "lib/http/internal/request_parser.h"

#include <algorithm>

#include "lib/http/internal/syntax.h"

namespace outrigger::http::internal {
namespace {

// Framing around a chunked body that no honest client needs: a long extension, or digits without end.
constexpr std::size_t kFreeFramingBytes = 16U << 10U;
constexpr std::size_t kFramingBytesPerBodyByte = 8;
constexpr std::size_t kKeepCapacityBytes = 16U << 10U;

constexpr Refusal kTargetTooLong{414, "the request target is longer than this server reads", "target_bytes"};
constexpr Refusal kHeadTooLarge{431, "the request's head is larger than this server reads", "head_bytes"};
constexpr Refusal kTooManyFields{431, "the request has more header fields than this server reads", "header_fields"};
constexpr Refusal kTooMuchFraming{400, "the chunks of the body carry too little", "chunk_framing"};
constexpr Refusal kObsFold{400, "a header field is folded over lines", ""};

// A line of the head that begins with white space continues the one before (RFC 9112, 5.2); proxies disagree about it.
bool has_folded_line(char before, std::string_view bytes) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  if (before == '\n' && !bytes.empty() && blank(bytes.front())) {
    return true;
  }
  for (auto at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
    if (at + 1 < bytes.size() && blank(bytes[at + 1])) {
      return true;
    }
  }
  return false;
}

}  // namespace

struct RequestParser::Callbacks {
  static RequestParser& self(llhttp_t* parser) { return *static_cast<RequestParser*>(parser->data); }

  static int on_url(llhttp_t* parser, const char* at, std::size_t size) {
    auto& p = self(parser);
    p.target_bytes_ += size;
    if (p.target_bytes_ > p.limits_.max_target_bytes) {
      p.refusal_ = kTargetTooLong;
      return HPE_USER;
    }
    p.text_.append(at, size);
    return HPE_OK;
  }

  static int on_header_field(llhttp_t* parser, const char* at, std::size_t size) {
    auto& p = self(parser);
    if (const int error = p.count_head_bytes(size); error != HPE_OK || p.head_is_complete_) {
      return error;
    }
    // A field begins where the last one has its value, or is the first.
    if (p.fields_.size() < p.field_count_ + 1) {
      p.fields_.push_back({{p.text_.size(), 0}, {}});
    }
    p.text_.append(at, size);
    p.fields_.back().name.size += size;
    return HPE_OK;
  }

  static int on_header_field_complete(llhttp_t* parser) {
    auto& p = self(parser);
    if (++p.field_count_ > p.limits_.max_header_fields) {
      p.refusal_ = kTooManyFields;
      return HPE_USER;
    }
    if (!p.head_is_complete_) {
      p.fields_.back().value.begin = p.text_.size();
    }
    return HPE_OK;
  }

  static int on_header_value(llhttp_t* parser, const char* at, std::size_t size) {
    auto& p = self(parser);
    if (const int error = p.count_head_bytes(size); error != HPE_OK || p.head_is_complete_) {
      return error;
    }
    p.text_.append(at, size);
    p.fields_.back().value.size += size;
    return HPE_OK;
  }

  static int on_headers_complete(llhttp_t* parser) {
    // The server does not speak what the client offers to change to: the request is answered as it is (RFC 9110, 7.8).
    parser->upgrade = 0;
    self(parser).head_is_complete_ = true;
    return HPE_PAUSED;
  }

  static int on_body(llhttp_t* parser, const char* at, std::size_t size) {
    auto& p = self(parser);
    if (p.body_.size() + size > p.limits_.max_body_bytes) {
      p.refusal_ = kBodyTooLarge;
      return HPE_USER;
    }
    p.body_.append(at, size);
    return HPE_OK;
  }

  static int on_chunk_header(llhttp_t* parser) {
    auto& p = self(parser);
    if (parser->content_length > p.limits_.max_body_bytes - p.body_.size()) {
      p.refusal_ = kBodyTooLarge;
      return HPE_USER;
    }
    return HPE_OK;
  }

  static int on_message_complete(llhttp_t*) { return HPE_PAUSED; }

  static const llhttp_settings_t* settings() {
    static const llhttp_settings_t settings = [] {
      llhttp_settings_t result;
      llhttp_settings_init(&result);
      result.on_url = on_url;
      result.on_header_field = on_header_field;
      result.on_header_field_complete = on_header_field_complete;
      result.on_header_value = on_header_value;
      result.on_headers_complete = on_headers_complete;
      result.on_body = on_body;
      result.on_chunk_header = on_chunk_header;
      result.on_message_complete = on_message_complete;
      return result;
    }();
    return &settings;
  }
};

RequestParser::RequestParser(const ParserLimits& limits) : limits_(limits), parser_{} { reset(); }

void RequestParser::reset() {
  llhttp_init(&parser_, HTTP_REQUEST, Callbacks::settings());
  parser_.data = this;
  text_.clear();
  fields_.clear();
  headers_.clear();
  body_.clear();
  decoded_path_.clear();
  target_bytes_ = head_bytes_ = trailer_bytes_ = field_count_ = raw_body_bytes_ = 0;
  last_head_byte_ = '\0';
  head_is_complete_ = wants_continue_ = keeps_alive_ = is_http10_ = false;
  refusal_ = {};
}

void RequestParser::shrink() {
  for (auto* buffer : {&text_, &body_, &decoded_path_}) {
    if (buffer->capacity() > kKeepCapacityBytes) {
      *buffer = {};
    }
  }
}

RequestParser::Progress RequestParser::feed(std::string_view bytes) {
  if (refusal_.status != 0) {
    return {Event::kRefused, 0};
  }
  return head_is_complete_ ? feed_body(bytes) : feed_head(bytes);
}

RequestParser::Progress RequestParser::feed_head(std::string_view bytes) {
  const auto error = llhttp_execute(&parser_, bytes.data(), bytes.size());
  if (error != HPE_OK && !(error == HPE_PAUSED && head_is_complete_)) {
    return refuse_for(error, bytes);
  }
  const auto consumed = error == HPE_OK ? bytes.size() : static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - bytes.data());
  const auto head = bytes.substr(0, consumed);
  head_bytes_ += consumed;
  if (head_bytes_ > limits_.max_head_bytes) {
    return refuse(kHeadTooLarge, consumed);
  }
  if (has_folded_line(last_head_byte_, head)) {
    return refuse(kObsFold, consumed);
  }
  if (!head.empty()) {
    last_head_byte_ = head.back();
  }
  if (!head_is_complete_) {
    return {Event::kNeedMore, consumed};
  }
  if (!finish_head()) {
    return {Event::kRefused, consumed};
  }
  const bool has_body = (parser_.flags & F_CHUNKED) != 0 || parser_.content_length > 0;
  if (!has_body) {
    wants_continue_ = false;
    return {Event::kRequestComplete, consumed};
  }
  llhttp_resume(&parser_);
  return {Event::kHeadComplete, consumed};
}

RequestParser::Progress RequestParser::feed_body(std::string_view bytes) {
  const auto error = llhttp_execute(&parser_, bytes.data(), bytes.size());
  if (error != HPE_OK && error != HPE_PAUSED) {
    return refuse_for(error, bytes);
  }
  const auto consumed = error == HPE_OK ? bytes.size() : static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - bytes.data());
  raw_body_bytes_ += consumed;
  if (raw_body_bytes_ > kFreeFramingBytes + (kFramingBytesPerBodyByte + 1) * body_.size()) {
    return refuse(kTooMuchFraming, consumed);
  }
  return {error == HPE_OK ? Event::kNeedMore : Event::kRequestComplete, consumed};
}

int RequestParser::count_head_bytes(std::size_t bytes) {
  std::size_t pending = 0;
  // Before the end of the head this bounds memory inside one feed; trailers are dropped, but count as well.
  (head_is_complete_ ? trailer_bytes_ : pending) += bytes;
  if (text_.size() + trailer_bytes_ + pending > limits_.max_head_bytes + limits_.max_target_bytes) {
    refusal_ = kHeadTooLarge;
    return HPE_USER;
  }
  return HPE_OK;
}

RequestParser::Progress RequestParser::refuse(const Refusal& refusal, std::size_t consumed) {
  refusal_ = refusal;
  return {Event::kRefused, consumed};
}

RequestParser::Progress RequestParser::refuse_for(llhttp_errno_t error, std::string_view bytes) {
  if (refusal_.status != 0) {
    return {Event::kRefused, 0};
  }
  // llhttp calls a version invalid also when the line behind it ends wrongly.
  const auto at = static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - bytes.data());
  const auto near = bytes.substr(std::min(bytes.size(), at - std::min<std::size_t>(at, 1)), 2);
  if (error == HPE_INVALID_VERSION && near.contains('\n')) {
    return refuse({400, "a line ends without a carriage return", ""}, 0);
  }
  switch (error) {
    case HPE_INVALID_VERSION:
    case HPE_PAUSED_H2_UPGRADE: return refuse({505, "only HTTP/1.0 and HTTP/1.1 are spoken here", ""}, 0);
    case HPE_INVALID_METHOD: return refuse({400, "the request line does not begin with a method", ""}, 0);
    case HPE_INVALID_URL: return refuse({400, "the request target holds characters that a URI cannot", ""}, 0);
    case HPE_INVALID_HEADER_TOKEN: return refuse({400, "a header field is malformed", ""}, 0);
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_UNEXPECTED_CONTENT_LENGTH: return refuse({400, "Content-Length is malformed, repeated or beside Transfer-Encoding", ""}, 0);
    case HPE_INVALID_TRANSFER_ENCODING: return refuse({400, "Transfer-Encoding is malformed or beside Content-Length", ""}, 0);
    case HPE_INVALID_CHUNK_SIZE: return refuse({400, "a chunk size is malformed", ""}, 0);
    default: return refuse({400, "the request is not HTTP/1.1", ""}, 0);
  }
}

RequestView RequestParser::view() const {
  std::string_view path = decoded_path_.empty() ? text(path_) : decoded_path_;
  return {.method = method_,
          .target = std::string_view(text_).substr(0, target_bytes_),
          .path = path.empty() ? std::string_view("/") : path,
          .query = text(query_),
          .headers = headers_,
          .body = body_,
          .path_parameters = {},
          .peer_address = {}};
}

}  // namespace outrigger::http::internal
