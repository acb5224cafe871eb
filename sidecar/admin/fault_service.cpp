#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "outrigger/sidecar/admin/v1/fault.grpc.pb.h"
#include "sidecar/admin/internal/fault_messages.h"
#include "sidecar/admin/internal/fault_service.h"
#include "sidecar/admin/metrics.h"

namespace outrigger::admin::internal {
namespace {

namespace api = sidecar::admin::v1;

grpc::StatusCode status_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kNotFound: return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::kAlreadyExists: return grpc::StatusCode::ALREADY_EXISTS;
    case ErrorCode::kFailedPrecondition: return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::kAborted: return grpc::StatusCode::ABORTED;
    case ErrorCode::kUnavailable: return grpc::StatusCode::UNAVAILABLE;
    case ErrorCode::kDeadlineExceeded: return grpc::StatusCode::DEADLINE_EXCEEDED;
    case ErrorCode::kResourceExhausted: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::kPermissionDenied: return grpc::StatusCode::PERMISSION_DENIED;
    case ErrorCode::kDataLoss: return grpc::StatusCode::DATA_LOSS;
    case ErrorCode::kUnimplemented: return grpc::StatusCode::UNIMPLEMENTED;
    case ErrorCode::kInternal: break;
  }
  return grpc::StatusCode::INTERNAL;
}

std::string outcome(const Result<fault::State>& result) { return result ? "ok" : std::string(name(result.error().code)); }

/// Who the client says it is; at most 128 printable bytes of it are kept.
std::string actor_of(const grpc::CallbackServerContext& context) {
  constexpr std::size_t kMostBytes = 128;
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("outrigger-actor");
  return found == metadata.end() ? std::string{} : std::string(found->second.data(), std::min(found->second.size(), kMostBytes));
}

class FaultService final : public api::FaultService::CallbackService {
 public:
  FaultService(fault::Engine& engine, telemetry::Registry& registry, AuditSink audit)
      : engine_(engine), registry_(registry), audit_(std::move(audit)) {}

  grpc::ServerUnaryReactor* CreateFault(grpc::CallbackServerContext* context, const api::CreateFaultRequest* request, api::Fault* response) override {
    auto specification = read_fault(request->fault());
    const auto created = specification ? engine_.create(std::move(*specification), request->validate_only()) : std::unexpected(specification.error());
    if (!request->validate_only()) {
      audit_({"fault.create", request->fault().id(), context->peer(), actor_of(*context), request->fault().reason(), outcome(created)});
    }
    return finish(context, "CreateFault", created, response);
  }

  grpc::ServerUnaryReactor* GetFault(grpc::CallbackServerContext* context, const api::GetFaultRequest* request, api::Fault* response) override {
    return finish(context, "GetFault", engine_.get(request->id()), response);
  }

  grpc::ServerUnaryReactor* ListFaults(grpc::CallbackServerContext* context, const api::ListFaultsRequest*,
                                       api::ListFaultsResponse* response) override {
    for (const auto& state : engine_.list()) {
      write_fault(state, *response->add_faults());
    }
    return finish(context, "ListFaults", {});
  }

  grpc::ServerUnaryReactor* DeleteFault(grpc::CallbackServerContext* context, const api::DeleteFaultRequest* request, api::Fault* response) override {
    const auto removed = engine_.remove(request->id());
    audit_({"fault.delete", request->id(), context->peer(), actor_of(*context), request->reason(), outcome(removed)});
    return finish(context, "DeleteFault", removed, response);
  }

 private:
  grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, std::string method, const Result<fault::State>& result,
                                   api::Fault* response) {
    if (!result) {
      return finish(context, std::move(method), std::unexpected(result.error()));
    }
    write_fault(*result, *response);
    return finish(context, std::move(method), {});
  }

  grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, std::string method, const Result<void>& result) {
    const std::string code = result ? "ok" : std::string(name(result.error().code));
    registry_.counter(metrics::kRequests, {{"method", std::move(method)}, {"code", code}}).add();
    auto* reactor = context->DefaultReactor();
    reactor->Finish(result ? grpc::Status::OK : grpc::Status(status_code(result.error().code), result.error().to_string()));
    return reactor;
  }

  fault::Engine& engine_;
  telemetry::Registry& registry_;
  AuditSink audit_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_fault_service(fault::Engine& engine, telemetry::Registry& registry, AuditSink audit) {
  return std::make_unique<FaultService>(engine, registry, std::move(audit));
}

}  // namespace outrigger::admin::internal
