#pragma once

#include <cstddef>
#include <string>

#include "lib/runtime/error.h"
#include "service/saga/engine.h"

namespace outrigger::saga {

/// Checks a start request and gives the fingerprint of its payload (input and business key), whatever its formatting.
/// A traceparent that is none is dropped. Errors: kInvalidArgument, with what is wrong and what to do.
[[nodiscard]] Result<std::string> check_request(StartRequest& request, std::size_t max_input_bytes);

}  // namespace outrigger::saga
