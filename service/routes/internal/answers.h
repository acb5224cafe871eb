#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/http/message.h"
#include "lib/http/responder.h"
#include "lib/runtime/error.h"
#include "service/orders/order.h"
#include "service/routes/internal/requests.h"
#include "service/saga/engine.h"

/// From what the engine says to the answer. Pure, but for send().
namespace outrigger::routes::internal {

/// Problem details with the extension member "errors".
[[nodiscard]] http::Response problem(int status, std::string_view title, std::string_view detail, std::span<const orders::FieldProblem> errors = {});

/// Status by the error's code, as service/saga/engine.h says; 503 carries Retry-After.
[[nodiscard]] http::Response error_answer(const Error& error);

/// 200 when the saga is finished, else 202; Location, and for an order "order_id" first.
[[nodiscard]] http::Response started_answer(const saga::SagaState& saga, bool is_order);
[[nodiscard]] http::Response saga_answer(const saga::SagaState& saga, bool is_order);
[[nodiscard]] http::Response list_answer(const journal::ListPage& page);

/// Adds X-Request-Id and traceparent, logs what went wrong on this side, and answers.
void send(http::Responder& responder, const RequestContext& context, http::Response response);

}  // namespace outrigger::routes::internal
