#include "service/routes/internal/requests.h"

#include <algorithm>
#include <charconv>
#include <format>
#include <nlohmann/json.hpp>

#include "lib/runtime/duration.h"
#include "lib/runtime/ids.h"
#include "service/orders/order.h"
#include "service/routes/internal/answers.h"

namespace outrigger::routes::internal {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxKeyBytes = 255;
constexpr std::size_t kMaxRequestIdBytes = 128;
constexpr std::size_t kMaxBusinessKeyBytes = 255;
constexpr std::size_t kMaxAuditBytes = 1'000;
constexpr std::size_t kMaxNesting = 64;

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::unexpected<http::Response> wrong_parameter(std::string_view name, std::string_view detail) {
  return std::unexpected(problem(400, "Bad query parameter", std::format("{}: {}", name, detail)));
}

template <class Number>
Parsed<std::optional<Number>> number_parameter(const http::Request& request, std::string_view name, Number least, Number most) {
  const auto text = request.query_parameter(name);
  if (!text) {
    return std::nullopt;
  }
  Number number{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size() || number < least || number > most) {
    return wrong_parameter(name, std::format("'{}' is not a whole number from {} to {}", *text, least, most));
  }
  return number;
}

// How long ago: bounded, so that no time before the clock's first comes of it.
Parsed<std::optional<std::chrono::milliseconds>> age_parameter(const http::Request& request, std::string_view name) {
  constexpr std::chrono::days kOldest{36'500};
  const auto text = request.query_parameter(name);
  if (!text || text->empty()) {
    return std::nullopt;
  }
  const auto age = parse_duration(*text);
  if (!age) {
    return wrong_parameter(name, age.error().message);
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::min<std::chrono::nanoseconds>(*age, kOldest));
}

// A body that says it is something else than JSON is not guessed at.
std::optional<http::Response> refuse_media_type(const http::Request& request) {
  const auto type = request.header("Content-Type");
  if (!type) {
    return std::nullopt;
  }
  const auto essence = type->substr(0, type->find_first_of("; "));
  if (http::equal_ignoring_case(essence, "application/json") || essence.ends_with("+json")) {
    return std::nullopt;
  }
  return problem(415, "Unsupported media type", std::format("'{}' is not read here: send application/json", essence));
}

// Writing JSON recurses, so depth is bounded before anything is parsed. Brackets inside strings do not count.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxNesting) {
        return true;
      }
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Parsed<json> json_object(const http::Request& request) {
  if (is_too_deep(request.body)) {
    return std::unexpected(problem(400, "Bad body", std::format("the body is nested deeper than {} levels", kMaxNesting)));
  }
  try {
    auto body = json::parse(request.body);
    if (body.is_object()) {
      return body;
    }
    return std::unexpected(problem(400, "Bad body", std::format("the body is {}, not a JSON object", body.type_name())));
  } catch (const json::exception& wrong) {
    const std::string_view what = wrong.what();
    const auto end = what.find("] ");
    return std::unexpected(
        problem(400, "Bad body", std::format("the body is not JSON: {}", end == std::string_view::npos ? what : what.substr(end + 2))));
  }
}

// Text fields of an operator's body.
Parsed<std::string> audit_text(const json& body, const char* field, std::string fallback) {
  const auto found = body.find(field);
  if (found == body.end()) {
    return fallback;
  }
  const auto* text = found->get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->size() > kMaxAuditBytes) {
    const orders::FieldProblem wrong{std::format("/{}", field), std::format("must be a text of 1 to {} bytes", kMaxAuditBytes)};
    return std::unexpected(problem(400, "Bad body", std::format("{} {}", wrong.pointer, wrong.detail), std::span(&wrong, 1)));
  }
  return *text;
}

}  // namespace

RequestContext context_of(const http::Request& request) {
  RequestContext context;
  const auto id = request.header("X-Request-Id");
  context.request_id = id && !id->empty() && id->size() <= kMaxRequestIdBytes && is_visible(*id) ? std::string(*id) : make_ulid();
  const auto parent = request.header("traceparent");
  const auto trace = parent ? telemetry::parse_traceparent(*parent) : std::nullopt;
  context.trace = trace ? trace->child() : telemetry::new_trace();
  return context;
}

Parsed<std::string> idempotency_key(const http::Request& request) {
  auto key = request.header("Idempotency-Key").value_or("");
  if (key.size() >= 2 && key.front() == '"' && key.back() == '"') {
    key = key.substr(1, key.size() - 2);
  }
  if (key.empty()) {
    return std::unexpected(
        problem(400, "Idempotency-Key required",
                "send a header Idempotency-Key, unique for this request, such as a UUID; repeating the request with the same key is safe"));
  }
  if (key.size() > kMaxKeyBytes || !is_visible(key)) {
    return std::unexpected(
        problem(400, "Bad Idempotency-Key", std::format("a key is 1 to {} visible ASCII characters without spaces", kMaxKeyBytes)));
  }
  return std::string(key);
}

Parsed<std::optional<std::chrono::milliseconds>> wait_of(const http::Request& request, std::chrono::milliseconds most) {
  const auto text = request.query_parameter("wait");
  if (!text) {
    return std::nullopt;
  }
  const auto wait = parse_duration(*text);
  if (!wait) {
    return wrong_parameter("wait", wait.error().message);
  }
  if (*wait > most) {
    return wrong_parameter("wait", std::format("{} is longer than {}: ask again after that", *text, format_duration(most)));
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(*wait);
}

Parsed<std::optional<std::uint64_t>> after_version(const http::Request& request) {
  return number_parameter<std::uint64_t>(request, "after_version", 0, 1ULL << 62U);
}

namespace {

std::vector<std::string> search_terms(const orders::Order& order) {
  std::vector<std::string> terms{order.customer_id};
  std::ranges::transform(order.lines, std::back_inserter(terms), &orders::OrderLine::sku);
  return terms;
}

}  // namespace

Parsed<saga::StartRequest> order_start(const http::Request& request, const RequestContext& context) {
  auto key = idempotency_key(request);
  if (!key) {
    return std::unexpected(std::move(key).error());
  }
  if (auto refused = refuse_media_type(request)) {
    return std::unexpected(*std::move(refused));
  }
  auto body = json_object(request);
  if (!body) {
    return std::unexpected(std::move(body).error());
  }
  const auto order = orders::read_order(*body);
  if (!order) {
    const auto& wrong = order.error();
    return std::unexpected(problem(
        400, "Bad order",
        std::format("{} {}{}", wrong[0].pointer, wrong[0].detail, wrong.size() == 1 ? "" : std::format("; {} more in errors", wrong.size() - 1)),
        wrong));
  }
  return saga::StartRequest{.definition = std::string(kOrderDefinition),
                            .idempotency_key = *std::move(key),
                            .business_key = order->order_id,
                            .input = body->dump(),  // canonical: white space and the order of fields do not make it another payload
                            .traceparent = context.trace.traceparent(),
                            .search_terms = search_terms(*order)};
}

Parsed<saga::StartRequest> saga_start(const http::Request& request, const RequestContext& context, std::string definition) {
  auto key = idempotency_key(request);
  if (!key) {
    return std::unexpected(std::move(key).error());
  }
  if (auto refused = refuse_media_type(request)) {
    return std::unexpected(*std::move(refused));
  }
  auto business_key = request.query_parameter("business_key").value_or("");
  if (business_key.size() > kMaxBusinessKeyBytes || !is_visible(business_key)) {
    return wrong_parameter("business_key", std::format("is at most {} visible ASCII characters without spaces", kMaxBusinessKeyBytes));
  }
  const auto body = json_object(request);
  if (!body) {
    return std::unexpected(body.error());
  }
  // An order is found as one, whichever way it came.
  const auto order = definition == kOrderDefinition ? orders::read_order(*body) : decltype(orders::read_order(*body)){std::unexpect};
  return saga::StartRequest{.definition = std::move(definition),
                            .idempotency_key = *std::move(key),
                            .business_key = std::move(business_key),
                            .input = body->dump(),
                            .traceparent = context.trace.traceparent(),
                            .search_terms = order ? search_terms(*order) : std::vector<std::string>{}};
}

Parsed<journal::ListQuery> list_query(const http::Request& request, std::size_t max_list, WallTime now) {
  journal::ListQuery query;
  if (const auto text = request.query_parameter("status"); text && !text->empty()) {
    const auto status = saga::parse_saga_status(*text);
    if (!status) {
      return wrong_parameter("status", status.error().message);
    }
    query.status = *status;
  }
  query.definition = request.query_parameter("definition").value_or("");
  query.business_key = request.query_parameter("business_key").value_or("");
  query.cursor = request.query_parameter("cursor").value_or("");
  for (const auto& [name, bound] : {std::pair{"older_than", &query.created_before}, std::pair{"newer_than", &query.created_since}}) {
    const auto age = age_parameter(request, name);
    if (!age) {
      return std::unexpected(age.error());
    }
    if (*age) {
      *bound = now - **age;
    }
  }
  const auto limit = number_parameter<std::size_t>(request, "limit", 1, max_list);
  if (!limit) {
    return std::unexpected(limit.error());
  }
  query.limit = limit->value_or(std::min(query.limit, max_list));
  return query;
}

Parsed<ActionRequest> action_of(const http::Request& request, std::string_view target) {
  const auto colon = target.rfind(':');
  const auto verb = target.substr(colon + 1);
  const auto operation = saga::parse_operation(verb);
  if (!operation) {
    return std::unexpected(problem(404, "No such action", operation.error().message));
  }
  if (auto refused = refuse_media_type(request)) {
    return std::unexpected(*std::move(refused));
  }
  json body = json::object();
  if (!request.body.empty()) {
    auto read = json_object(request);
    if (!read) {
      return std::unexpected(std::move(read).error());
    }
    body = *std::move(read);
  }
  auto actor = audit_text(body, "actor", std::format("unnamed at {}", request.peer_address));
  if (!actor) {
    return std::unexpected(std::move(actor).error());
  }
  auto reason = audit_text(body, "reason", "");
  if (!reason) {
    return std::unexpected(std::move(reason).error());
  }
  auto step = audit_text(body, "step", "");
  if (!step) {
    return std::unexpected(std::move(step).error());
  }
  return ActionRequest{.saga_id = std::string(target.substr(0, colon)),
                       .action = {.operation = *operation, .actor = *std::move(actor), .reason = *std::move(reason), .step = *std::move(step)}};
}

}  // namespace outrigger::routes::internal
