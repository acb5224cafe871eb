#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <llhttp.h>

#include "lib/http/message.h"

namespace outrigger::http::internal {

struct ParserLimits {
  std::size_t max_target_bytes;
  std::size_t max_head_bytes;
  std::size_t max_header_fields;
  std::size_t max_body_bytes;
};

/// Why a request is refused: the answer's status and detail, and which limit was reached (empty: it broke the grammar).
struct Refusal {
  int status;
  std::string_view detail;
  std::string_view limit;
};

inline constexpr Refusal kBodyTooLarge{413, "the request's body is larger than this server reads", "body_bytes"};

/// Turns the bytes of one request after the other into a RequestView: llhttp in strict mode, and on top of it what
/// RFC 9112 leaves to the server and attackers use. No sockets, no clock: the fuzzer feeds it directly. Not thread-safe.
///
/// Bytes may come in any pieces; they are copied, so the caller's buffer is free again after feed().
class RequestParser final {
 public:
  enum class Event {
    kNeedMore,         ///< everything was consumed, the request is not complete
    kHeadComplete,     ///< a body follows: the moment for 100-continue
    kRequestComplete,  ///< view() is valid until reset()
    kRefused,          ///< see refusal(); nothing further can be read from this connection
  };
  struct Progress {
    Event event;
    std::size_t consumed;
  };

  explicit RequestParser(const ParserLimits& limits);

  /// Consumes at most to the end of the request. Call again with what is left.
  Progress feed(std::string_view bytes);

  /// For the next request of the connection, after kRequestComplete.
  void reset();
  /// Gives back what a big request made it hold; for a parser that goes into a pool.
  void shrink();

  [[nodiscard]] bool has_started() const { return head_bytes_ > 0; }
  [[nodiscard]] bool has_head() const { return head_is_complete_; }
  [[nodiscard]] RequestView view() const;
  [[nodiscard]] std::string take_body() { return std::move(body_); }
  [[nodiscard]] std::size_t body_bytes() const { return raw_body_bytes_; }  ///< as received, with the chunks' framing
  [[nodiscard]] bool wants_continue() const { return wants_continue_; }
  [[nodiscard]] bool keeps_alive() const { return keeps_alive_; }
  [[nodiscard]] bool is_http10() const { return is_http10_; }
  [[nodiscard]] const Refusal& refusal() const { return refusal_; }

 private:
  struct Callbacks;
  struct Span {
    std::size_t begin;
    std::size_t size;
  };
  struct Field {
    Span name;
    Span value;
  };

  Progress feed_head(std::string_view bytes);
  Progress feed_body(std::string_view bytes);
  Progress refuse(const Refusal& refusal, std::size_t consumed);
  Progress refuse_for(llhttp_errno_t error, std::string_view bytes);
  bool finish_head();
  bool finish_framing();
  bool finish_target();
  int count_head_bytes(std::size_t bytes);
  [[nodiscard]] std::string_view text(Span span) const { return std::string_view(text_).substr(span.begin, span.size); }

  ParserLimits limits_;
  llhttp_t parser_;
  std::string text_;           // target, then names and values of the fields, one after the other
  std::vector<Field> fields_;  // into text_
  std::vector<HeaderView> headers_;
  std::string body_;
  std::string decoded_path_;
  std::size_t target_bytes_ = 0;
  std::size_t head_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::size_t field_count_ = 0;
  std::size_t raw_body_bytes_ = 0;
  char last_head_byte_ = '\0';
  Method method_ = Method::kGet;
  Span path_{};
  Span query_{};
  bool head_is_complete_ = false;
  bool wants_continue_ = false;
  bool keeps_alive_ = false;
  bool is_http10_ = false;
  Refusal refusal_{};
};

}  // namespace outrigger::http::internal
