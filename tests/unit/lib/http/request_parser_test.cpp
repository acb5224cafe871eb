#include "lib/http/internal/request_parser.h"

#include <gtest/gtest.h>

namespace outrigger::http::internal {
namespace {

constexpr ParserLimits kLimits{.max_target_bytes = 256, .max_head_bytes = 1'024, .max_header_fields = 16, .max_body_bytes = 512};

RequestParser::Event last_event(std::string_view bytes, std::size_t piece_bytes) {
  RequestParser parser(kLimits);
  auto event = RequestParser::Event::kNeedMore;
  while (!bytes.empty() && event != RequestParser::Event::kRefused) {
    const auto progress = parser.feed(bytes.substr(0, piece_bytes));
    event = progress.event;
    bytes.remove_prefix(progress.consumed);
  }
  return event;
}

std::string with_trailer(std::size_t value_bytes) {
  return "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: " + std::string(value_bytes, 'x') + "\r\n\r\n";
}

// Found by the fuzzer: a trailer that came in one piece counted twice.
TEST(RequestParser, ATrailersSizeCountsTheSameInAnyPieces) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{10'000}}) {
    EXPECT_EQ(last_event(with_trailer(1'000), piece), RequestParser::Event::kRequestComplete) << piece;
    EXPECT_EQ(last_event(with_trailer(1'300), piece), RequestParser::Event::kRefused) << piece;
  }
}

}  // namespace
}  // namespace outrigger::http::internal
