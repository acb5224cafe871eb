#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/http/message.h"
#include "service/journal/journal.h"
#include "service/routes/api.h"
#include "service/saga/engine.h"

namespace outrigger::routes::internal {

using ListSagas = std::function<Result<journal::ListPage>(const journal::ListQuery&)>;

using GetSaga = std::function<Result<saga::SagaPointer>(std::string_view saga_id)>;

/// The answer of /api/query: {"query", "orders": [{"id", "order_id", "customer_id", "status", "created_at"}], "complete"}. Orders whose id,
/// saga's id, customer or one of whose SKUs is `text`, by index, the newest first. `complete`: every match is listed.
[[nodiscard]] http::Response query_answer(std::string_view text, const Settings& settings, const ListSagas& list, const GetSaga& get);

}  // namespace outrigger::routes::internal
