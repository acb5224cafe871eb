// Bytes from anybody into the request parser: it never crashes, what it lets through keeps the rules, and the pieces in which
// the network delivers them change nothing.
#include <cstdlib>
#include <format>
#include <iostream>

#include "lib/http/internal/request_parser.h"
#include "lib/http/internal/syntax.h"

namespace {

using outrigger::http::equal_ignoring_case;
using outrigger::http::internal::ParserLimits;
using outrigger::http::internal::RequestParser;

constexpr ParserLimits kLimits{.max_target_bytes = 256, .max_head_bytes = 1'024, .max_header_fields = 16, .max_body_bytes = 512};

void require(bool holds, std::string_view what) {
  if (!holds) {
    std::cerr << "violated: " << what << '\n';
    std::abort();
  }
}

void check_rules(const RequestParser& parser) {
  const auto view = parser.view();
  require(view.target.size() <= kLimits.max_target_bytes, "the target is within its limit");
  require(view.headers.size() <= kLimits.max_header_fields, "the fields are within their limit");
  require(view.body.size() <= kLimits.max_body_bytes, "the body is within its limit");
  require(!view.path.contains('\0'), "the path holds no NUL");
  int hosts = 0;
  int lengths = 0;
  int encodings = 0;
  for (const auto& [name, value] : view.headers) {
    require(outrigger::http::internal::is_token(name), "a field name is a token");
    require(outrigger::http::internal::is_field_value(value), "a field value holds no control character");
    hosts += equal_ignoring_case(name, "host") ? 1 : 0;
    lengths += equal_ignoring_case(name, "content-length") ? 1 : 0;
    encodings += equal_ignoring_case(name, "transfer-encoding") ? 1 : 0;
  }
  require(hosts == 1 || (hosts == 0 && parser.is_http10()), "HTTP/1.1 has one Host");
  require(lengths + encodings <= 1, "the body is framed in one way");
  require(!view.body.empty() ? lengths + encodings == 1 : true, "a body is announced");
}

/// What the bytes mean, as text, up to the first refusal.
std::string meaning_of(std::string_view bytes, std::size_t piece_bytes) {
  RequestParser parser(kLimits);
  std::string meaning;
  while (!bytes.empty()) {
    auto piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    while (!piece.empty()) {
      const auto [event, consumed] = parser.feed(piece);
      require(consumed <= piece.size(), "no more is consumed than there is");
      piece.remove_prefix(consumed);
      if (event == RequestParser::Event::kRefused) {
        require(parser.refusal().status >= 400, "a refusal has a status");
        return meaning + "refused";
      }
      if (event == RequestParser::Event::kNeedMore) {
        require(piece.empty(), "all is consumed when more is needed");
      } else if (event == RequestParser::Event::kRequestComplete) {
        check_rules(parser);
        const auto view = parser.view();
        meaning += std::format("{} {} {} {} {}\n", outrigger::http::name(view.method), view.path, view.query, view.body, parser.keeps_alive());
        for (const auto& [name, value] : view.headers) {
          meaning += std::format("{}: {}\n", name, value);
        }
        parser.reset();
      }
    }
  }
  return meaning;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = meaning_of(bytes, bytes.size());
  require(meaning_of(bytes, 1) == whole, "single bytes mean what the whole means");
  require(meaning_of(bytes, 2U + data[0] % 32U) == whole, "pieces mean what the whole means");
  return 0;
}
