#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/http/message.h"
#include "service/journal/journal.h"
#include "service/routes/api.h"
#include "service/saga/engine.h"

namespace outrigger::routes::internal {

/// Whether an order matches: its id, its saga's id or its customer equal `text`, or one of its lines has it as SKU.
[[nodiscard]] bool matches(const saga::SagaState& saga, std::string_view text);

using ListSagas = std::function<Result<journal::ListPage>(const journal::ListQuery&)>;

using GetSaga = std::function<Result<saga::SagaPointer>(std::string_view saga_id)>;

/// The answer of /api/query: {"query", "orders": [{"id", "order_id", "customer_id", "status", "created_at"}], "scanned", "complete"}.
/// An order's or a saga's id is found by index, however old it is; a customer or a SKU among the newest `max_query_scan` orders. `complete` says
/// whether that was all and every match is listed.
[[nodiscard]] http::Response query_answer(std::string_view text, const Settings& settings, const ListSagas& list, const GetSaga& get);

}  // namespace outrigger::routes::internal
