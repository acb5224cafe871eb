#pragma once

#include <string_view>

namespace outrigger::routes::internal {

/// api/openapi.json, as it was built: what GET /openapi.json answers.
[[nodiscard]] std::string_view openapi_document();

}  // namespace outrigger::routes::internal
