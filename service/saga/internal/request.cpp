#include "service/saga/internal/request.h"

#include <algorithm>
#include <format>

#include <nlohmann/json.hpp>

#include "lib/telemetry/trace_context.h"
#include "service/saga/internal/digest.h"
#include "service/saga/internal/payload.h"

namespace outrigger::saga {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxKeyBytes = 255;

std::unexpected<Error> bad(std::string message) { return fail(ErrorCode::kInvalidArgument, std::move(message)); }

std::string escape_quotes(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    escaped.append(c == '"' || c == '\\' ? "\\" : "").push_back(c);
  }
  return escaped;
}

}  // namespace

Result<std::string> check_request(StartRequest& request, std::size_t max_input_bytes) {
  const auto is_printable = [](char c) { return c > ' ' && c < '\x7f'; };
  if (request.idempotency_key.empty() || request.idempotency_key.size() > kMaxKeyBytes ||
      !std::ranges::all_of(request.idempotency_key, is_printable)) {
    return bad(std::format(
        "Idempotency-Key: use 1 to {} printable ASCII characters without spaces, new for each order and the same when it is repeated", kMaxKeyBytes));
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; };
  const bool is_utf8 = Json::accept(std::format("\"{}\"", escape_quotes(request.business_key)));
  if (request.business_key.size() > kMaxKeyBytes || std::ranges::any_of(request.business_key, is_control) || !is_utf8) {
    return bad(std::format("business key: use at most {} bytes of UTF-8 without control characters", kMaxKeyBytes));
  }
  std::ranges::sort(request.search_terms);
  const auto repeated = std::ranges::unique(request.search_terms);
  request.search_terms.erase(repeated.begin(), repeated.end());
  const auto is_term = [](const std::string& term) { return !term.empty() && term.size() <= kMaxKeyBytes; };
  if (request.search_terms.size() > kMaxSearchTerms || !std::ranges::all_of(request.search_terms, is_term)) {
    return bad(std::format("search terms: use at most {}, each of 1 to {} bytes", kMaxSearchTerms, kMaxKeyBytes));
  }
  if (request.input.size() > max_input_bytes) {
    return bad(std::format("input: {} bytes are more than the limit of {}", request.input.size(), max_input_bytes));
  }
  if (json_depth(request.input) > kMaxJsonDepth) {
    return bad(std::format("input: nested deeper than {} levels", kMaxJsonDepth));
  }
  const auto input = Json::parse(request.input, nullptr, false);
  if (input.is_discarded() || !input.is_object()) {
    return bad("input: expected a JSON object in UTF-8");
  }
  if (!telemetry::parse_traceparent(request.traceparent)) {
    request.traceparent.clear();
  }
  // dump() sorts the names, so formatting and order do not make another payload.
  return sha256_hex(std::format("{}\n{}", request.business_key, input.dump()));
}

}  // namespace outrigger::saga
