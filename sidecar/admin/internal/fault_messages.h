#pragma once

#include "lib/runtime/error.h"
#include "sidecar/fault/fault.h"

namespace outrigger::sidecar::admin::v1 {
class Fault;
}

namespace outrigger::admin::internal {

/// The specification in a message. Errors: kInvalidArgument, the context is the field; bounds are the engine's business.
[[nodiscard]] Result<fault::Specification> read_fault(const sidecar::admin::v1::Fault& message);

void write_fault(const fault::State& state, sidecar::admin::v1::Fault& message);

}  // namespace outrigger::admin::internal
