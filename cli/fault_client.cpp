#include "cli/fault_client.h"

#include <unistd.h>

#include <array>
#include <format>

#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include "outrigger/sidecar/admin/v1/fault.grpc.pb.h"

namespace outrigger::cli {
namespace {

namespace api = ::outrigger::sidecar::admin::v1;

std::string grpc_target(const std::string& target) { return target.starts_with('/') || target.starts_with('.') ? "unix:" + target : target; }

/// user@host, for the sidecar's audit log; nobody proves it.
std::string actor() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): nobody sets the environment
  return std::format("{}@{}", user != nullptr ? std::string(user) : "uid " + std::to_string(getuid()), host.data());
}

ErrorCode code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT: return ErrorCode::kInvalidArgument;
    case grpc::StatusCode::NOT_FOUND: return ErrorCode::kNotFound;
    case grpc::StatusCode::ALREADY_EXISTS: return ErrorCode::kAlreadyExists;
    case grpc::StatusCode::FAILED_PRECONDITION: return ErrorCode::kFailedPrecondition;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return ErrorCode::kResourceExhausted;
    case grpc::StatusCode::PERMISSION_DENIED: return ErrorCode::kPermissionDenied;
    case grpc::StatusCode::UNIMPLEMENTED: return ErrorCode::kUnimplemented;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED: return ErrorCode::kUnavailable;
    default: return ErrorCode::kInternal;
  }
}

}  // namespace

struct FaultClient::State {
  std::string target;
  std::chrono::milliseconds deadline;
  std::unique_ptr<api::FaultService::Stub> stub;

  void prepare(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    context.AddMetadata("outrigger-actor", actor());
  }

  [[nodiscard]] std::unexpected<Error> failure(const grpc::Status& status) const {
    const ErrorCode code = code_of(status.error_code());
    if (code != ErrorCode::kUnavailable) {
      return fail(code, status.error_message());
    }
    return fail(code,
                std::format("no sidecar answers ({}): is it running, and may this user open its socket? Name another with --admin or OUTRIGGER_ADMIN",
                            status.error_message()),
                target);
  }
};

FaultClient::FaultClient(const std::string& target, std::chrono::milliseconds deadline) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");  // a socket's path is no host name
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  state_ = std::make_unique<State>(
      target, deadline, api::FaultService::NewStub(grpc::CreateCustomChannel(grpc_target(target), grpc::InsecureChannelCredentials(), arguments)));
}

FaultClient::~FaultClient() = default;

Result<api::Fault> FaultClient::create(const api::Fault& fault, bool validate_only) {
  grpc::ClientContext context;
  state_->prepare(context);
  api::CreateFaultRequest request;
  *request.mutable_fault() = fault;
  request.set_validate_only(validate_only);
  api::Fault created;
  if (const auto status = state_->stub->CreateFault(&context, request, &created); !status.ok()) {
    return state_->failure(status);
  }
  return created;
}

Result<std::vector<api::Fault>> FaultClient::list() {
  grpc::ClientContext context;
  state_->prepare(context);
  api::ListFaultsResponse response;
  if (const auto status = state_->stub->ListFaults(&context, {}, &response); !status.ok()) {
    return state_->failure(status);
  }
  return std::vector<api::Fault>(response.faults().begin(), response.faults().end());
}

Result<api::Fault> FaultClient::remove(const std::string& id, const std::string& reason) {
  grpc::ClientContext context;
  state_->prepare(context);
  api::DeleteFaultRequest request;
  request.set_id(id);
  request.set_reason(reason);
  api::Fault last;
  if (const auto status = state_->stub->DeleteFault(&context, request, &last); !status.ok()) {
    return state_->failure(status);
  }
  return last;
}

}  // namespace outrigger::cli
