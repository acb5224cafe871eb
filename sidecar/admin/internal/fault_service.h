#pragma once

#include <memory>

#include "lib/telemetry/metrics.h"
#include "sidecar/admin/admin_server.h"
#include "sidecar/fault/engine.h"

namespace grpc {
class Service;
}

namespace outrigger::admin::internal {

/// FaultService over an engine; behind a function, so that gRPC's headers stay in one source.
[[nodiscard]] std::unique_ptr<grpc::Service> make_fault_service(fault::Engine& engine, telemetry::Registry& registry, AuditSink audit);

}  // namespace outrigger::admin::internal
