#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "lib/http/message.h"
#include "lib/telemetry/trace_context.h"
#include "service/journal/journal.h"
#include "service/saga/engine.h"

/// From a request to what the engine takes. Pure: what is wrong is the answer to send.
namespace outrigger::routes::internal {

template <class T>
using Parsed = std::expected<T, http::Response>;

inline constexpr std::string_view kOrderDefinition = "order-fulfilment";

/// What every answer carries back, and every log line about the request.
struct RequestContext {
  std::string request_id;  ///< the client's X-Request-Id when it is one, else made here
  telemetry::TraceContext trace;
};
[[nodiscard]] RequestContext context_of(const http::Request& request);

/// Header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07): a quoted text, or the same without quotes.
[[nodiscard]] Parsed<std::string> idempotency_key(const http::Request& request);
/// Query parameter `wait`; nothing when it is absent.
[[nodiscard]] Parsed<std::optional<std::chrono::milliseconds>> wait_of(const http::Request& request, std::chrono::milliseconds most);
[[nodiscard]] Parsed<std::optional<std::uint64_t>> after_version(const http::Request& request);

[[nodiscard]] Parsed<saga::StartRequest> order_start(const http::Request& request, const RequestContext& context);
[[nodiscard]] Parsed<saga::StartRequest> saga_start(const http::Request& request, const RequestContext& context, std::string definition);
[[nodiscard]] Parsed<journal::ListQuery> list_query(const http::Request& request, std::size_t max_list, WallTime now);

struct ActionRequest {
  std::string saga_id;
  saga::OperatorAction action;
};
/// `target` is "<id>:<verb>". The body is optional: {"actor": "…", "reason": "…"}.
[[nodiscard]] Parsed<ActionRequest> action_of(const http::Request& request, std::string_view target);

}  // namespace outrigger::routes::internal
