#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/http/message.h"
#include "service/journal/journal.h"
#include "service/routes/api.h"

namespace outrigger::routes::internal {

/// Whether an order matches: its id, its saga's id or its customer equal `text`, or one of its lines has it as SKU.
[[nodiscard]] bool matches(const saga::SagaState& saga, std::string_view text);

using ListSagas = std::function<Result<journal::ListPage>(const journal::ListQuery&)>;

/// The answer of /api/query: {"query", "orders": [{"id", "order_id", "customer_id", "status", "created_at"}], "scanned", "complete"}.
/// Looks at the newest `max_query_scan` orders; `complete` says whether that was all and every match is listed.
[[nodiscard]] http::Response query_answer(std::string_view text, const Settings& settings, const ListSagas& list);

}  // namespace outrigger::routes::internal
