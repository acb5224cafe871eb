// Bytes from any upstream into the response parser: it never crashes, keeps its limits, and pieces change nothing.
#include <cstdlib>
#include <format>
#include <iostream>
#include <optional>

#include "lib/http/internal/response_parser.h"
#include "lib/http/internal/syntax.h"

namespace {

using outrigger::http::internal::ResponseLimits;
using outrigger::http::internal::ResponseParser;

constexpr ResponseLimits kLimits{.max_head_bytes = 1'024, .max_header_fields = 16, .max_body_bytes = 512};

void require(bool holds, std::string_view what) {
  if (!holds) {
    std::cerr << "violated: " << what << '\n';
    std::abort();
  }
}

enum class Takes { kAtTheEnd, kAsItComes };

std::string meaning_of(std::string_view bytes, std::size_t piece_bytes, bool answers_head, Takes takes = Takes::kAtTheEnd) {
  ResponseParser parser(kLimits, answers_head);
  auto event = ResponseParser::Event::kNeedMore;
  std::optional<outrigger::http::Response> head;
  while (!bytes.empty() && event == ResponseParser::Event::kNeedMore) {
    const auto piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    event = parser.feed(piece);
    if (takes == Takes::kAsItComes && event == ResponseParser::Event::kNeedMore && parser.has_head()) {
      if (head) {
        head->body += parser.take_body();
      } else {
        head = parser.take_response();
      }
    }
  }
  if (event == ResponseParser::Event::kNeedMore) {
    event = parser.finish();
  }
  if (event == ResponseParser::Event::kBad) {
    require(!parser.why().empty(), "a refusal says why");
    return "bad";
  }
  if (head) {
    head->body += parser.take_body();
  }
  const auto response = head ? *std::move(head) : parser.take_response();
  require(response.status >= 200, "an interim answer is not the answer");
  require(response.headers.size() <= kLimits.max_header_fields, "the fields are within their limit");
  require(response.body.size() <= kLimits.max_body_bytes, "the body is within its limit");
  require(!answers_head || response.body.empty(), "an answer to HEAD has no body");
  std::string meaning = std::format("{} {}\n", response.status, response.body);
  for (const auto& [name, value] : response.headers) {
    require(outrigger::http::internal::is_token(name), "a field name is a token");
    require(outrigger::http::internal::is_field_value(value), "a field value holds no control character");
    meaning += std::format("{}: {}\n", name, value);
  }
  return meaning;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool answers_head = data[0] % 2 == 1;
  const auto whole = meaning_of(bytes, bytes.size(), answers_head);
  require(meaning_of(bytes, 1, answers_head) == whole, "single bytes mean what the whole means");
  require(meaning_of(bytes, 2U + data[0] % 32U, answers_head) == whole, "pieces mean what the whole means");
  require(meaning_of(bytes, 2U + data[0] % 32U, answers_head, Takes::kAsItComes) == whole, "a body taken as it comes is the same body");
  return 0;
}
