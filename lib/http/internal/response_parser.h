#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <llhttp.h>

#include "lib/http/message.h"

namespace outrigger::http::internal {

struct ResponseLimits {
  std::size_t max_head_bytes;
  std::size_t max_header_fields;
  std::size_t max_body_bytes;  ///< SIZE_MAX for a body that is taken as it comes
};

/// Turns the bytes of one answer into a Response: llhttp in strict mode, interim answers (1xx) skipped. Not thread-safe.
class ResponseParser final {
 public:
  enum class Event { kNeedMore, kComplete, kBad };

  ResponseParser(const ResponseLimits& limits, bool answers_head);
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  Event feed(std::string_view bytes);
  /// The server closed: the end of a body without a length.
  Event finish();

  [[nodiscard]] bool has_started() const { return has_started_; }
  /// Whether another request may follow on the connection; after kComplete.
  [[nodiscard]] bool keeps_alive() const { return keeps_alive_; }
  /// The head of the answer itself is there, and some of its body may be; interim answers do not count.
  [[nodiscard]] bool has_head() const { return has_head_; }
  /// What the head says of the body's length; after has_head().
  [[nodiscard]] std::optional<std::uint64_t> body_length() const { return body_length_; }
  /// Head and what there is of the body; what comes later is in take_body().
  [[nodiscard]] Response take_response() { return std::exchange(response_, {}); }
  [[nodiscard]] std::string take_body() { return std::exchange(response_.body, {}); }
  [[nodiscard]] std::string_view why() const { return why_; }  ///< after kBad

 private:
  struct Callbacks;
  int stop(std::string_view why);
  int count_head_bytes(std::size_t bytes);
  Event bad(std::string_view why);

  ResponseLimits limits_;
  bool answers_head_;
  llhttp_t parser_;
  Response response_;
  std::size_t head_bytes_ = 0;
  std::size_t field_count_ = 0;
  std::size_t raw_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  std::optional<std::uint64_t> body_length_;
  const char* value_end_ = nullptr;  // where a value that is not broken over lines goes on
  bool has_head_ = false;
  bool has_started_ = false;
  bool keeps_alive_ = false;
  std::string_view why_;
};

}  // namespace outrigger::http::internal
