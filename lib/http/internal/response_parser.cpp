#include "lib/http/internal/response_parser.h"

#include <algorithm>
#include <charconv>

#include "lib/http/internal/syntax.h"

namespace outrigger::http::internal {

struct ResponseParser::Callbacks {
  static ResponseParser& self(llhttp_t* parser) { return *static_cast<ResponseParser*>(parser->data); }

  static int on_status(llhttp_t* parser, const char*, std::size_t size) { return self(parser).count_head_bytes(size); }

  static int on_header_field(llhttp_t* parser, const char* at, std::size_t size) {
    auto& p = self(parser);
    if (!p.has_head_) {
      if (p.response_.headers.size() < p.field_count_ + 1) {
        p.response_.headers.emplace_back();
      }
      p.response_.headers.back().first.append(at, size);
    }
    return p.count_head_bytes(size);
  }

  static int on_header_field_complete(llhttp_t* parser) {
    auto& p = self(parser);
    p.value_end_ = nullptr;
    return ++p.field_count_ > p.limits_.max_header_fields ? p.stop("the answer has too many header fields") : HPE_OK;
  }

  static int on_header_value(llhttp_t* parser, const char* at, std::size_t size) {
    auto& p = self(parser);
    if (p.value_end_ != nullptr && p.value_end_ != at) {
      return p.stop("a header field of the answer is folded over lines");
    }
    p.value_end_ = at + size;
    if (!p.has_head_) {
      p.response_.headers.back().second.append(at, size);
    }
    return p.count_head_bytes(size);
  }

  static int on_headers_complete(llhttp_t* parser) {
    auto& p = self(parser);
    parser->upgrade = 0;
    auto& response = p.response_;
    response.status = parser->status_code;
    if (parser->http_major != 1 || parser->http_minor > 1) {
      return p.stop("the answer is not HTTP/1.0 or HTTP/1.1");
    }
    if (response.status == 101) {
      return p.stop("the answer changes to a protocol that nobody asked for");
    }
    const bool has_body = !p.answers_head_ && response.status >= 200 && response.status != 204 && response.status != 304;
    for (auto& [name, value] : response.headers) {
      value = std::string(trim(value));
      if (equal_ignoring_case(name, "transfer-encoding") && !equal_ignoring_case(value, "chunked")) {
        return p.stop("the answer has a transfer coding other than chunked");
      }
      if (!has_body && equal_ignoring_case(name, "content-length")) {
        std::uint64_t length = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), length).ec == std::errc()) {
          response.content_length = length;
        }
      }
    }
    if (has_body && (parser->flags & F_CHUNKED) == 0 && parser->content_length > p.limits_.max_body_bytes && !llhttp_message_needs_eof(parser)) {
      return p.stop("the answer's body is larger than this client reads");
    }
    p.keeps_alive_ = llhttp_should_keep_alive(parser) == 1;
    if (has_body && (parser->flags & F_CHUNKED) == 0 && (parser->flags & F_CONTENT_LENGTH) != 0) {
      p.body_length_ = parser->content_length;
    }
    p.has_head_ = response.status >= 200;
    return p.answers_head_ && response.status >= 200 ? 1 : 0;
  }

  static int on_body(llhttp_t* parser, const char* at, std::size_t size) {
    auto& p = self(parser);
    if (size > p.limits_.max_body_bytes - p.body_bytes_) {
      return p.stop("the answer's body is larger than this client reads");
    }
    p.body_bytes_ += size;
    p.response_.body.append(at, size);
    return HPE_OK;
  }

  static int on_message_complete(llhttp_t* parser) {
    auto& p = self(parser);
    if (p.has_head_) {
      return HPE_PAUSED;
    }
    // An interim answer; the sizes go on counting, so that an endless row of them is bounded.
    p.response_ = {};
    p.limits_.max_header_fields -= std::min(p.field_count_, p.limits_.max_header_fields);
    p.field_count_ = 0;
    p.value_end_ = nullptr;
    return HPE_OK;
  }

  static const llhttp_settings_t* settings() {
    static const llhttp_settings_t settings = [] {
      llhttp_settings_t result;
      llhttp_settings_init(&result);
      result.on_status = on_status;
      result.on_header_field = on_header_field;
      result.on_header_field_complete = on_header_field_complete;
      result.on_header_value = on_header_value;
      result.on_headers_complete = on_headers_complete;
      result.on_body = on_body;
      result.on_message_complete = on_message_complete;
      return result;
    }();
    return &settings;
  }
};

ResponseParser::ResponseParser(const ResponseLimits& limits, bool answers_head) : limits_(limits), answers_head_(answers_head), parser_{} {
  llhttp_init(&parser_, HTTP_RESPONSE, Callbacks::settings());
  parser_.data = this;
}

ResponseParser::Event ResponseParser::feed(std::string_view bytes) {
  has_started_ = has_started_ || !bytes.empty();
  if (value_end_ != nullptr) {
    value_end_ = bytes.data();
  }
  const auto error = llhttp_execute(&parser_, bytes.data(), bytes.size());
  raw_bytes_ += bytes.size();
  if (error == HPE_PAUSED) {
    const auto consumed = static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - bytes.data());
    // Bytes behind the answer belong to no request: whoever reads them next would be answered wrongly.
    keeps_alive_ = keeps_alive_ && consumed == bytes.size();
    return Event::kComplete;
  }
  if (error != HPE_OK) {
    // llhttp gives no reason for what a callback refused; ours is in why_ then.
    const char* const reason = llhttp_get_error_reason(&parser_);
    return bad(reason != nullptr ? reason : "the answer is not HTTP/1.1");
  }
  if (raw_bytes_ > (std::size_t{64} << 10U) + limits_.max_head_bytes + 16 * body_bytes_) {
    return bad("the chunks of the answer carry too little");
  }
  return Event::kNeedMore;
}

ResponseParser::Event ResponseParser::finish() {
  const auto error = llhttp_finish(&parser_);
  keeps_alive_ = false;
  return error == HPE_PAUSED ? Event::kComplete : bad("the connection ended in the middle of the answer");
}

ResponseParser::Event ResponseParser::bad(std::string_view why) {
  if (why_.empty()) {
    why_ = why;
  }
  return Event::kBad;
}

int ResponseParser::stop(std::string_view why) {
  why_ = why;
  return HPE_USER;
}

int ResponseParser::count_head_bytes(std::size_t bytes) {
  head_bytes_ += bytes;
  return head_bytes_ > limits_.max_head_bytes ? stop("the answer's head is larger than this client reads") : HPE_OK;
}

}  // namespace outrigger::http::internal
