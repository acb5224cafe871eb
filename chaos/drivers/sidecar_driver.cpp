#include "chaos/drivers/sidecar_driver.h"

#include <grpcpp/grpcpp.h>

#include <format>

#include "outrigger/sidecar/admin/v1/fault.grpc.pb.h"

namespace outrigger::chaos {
namespace {

namespace admin_api = ::outrigger::sidecar::admin::v1;

ErrorCode code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT: return ErrorCode::kInvalidArgument;
    case grpc::StatusCode::NOT_FOUND: return ErrorCode::kNotFound;
    case grpc::StatusCode::ALREADY_EXISTS: return ErrorCode::kAlreadyExists;
    case grpc::StatusCode::FAILED_PRECONDITION: return ErrorCode::kFailedPrecondition;
    case grpc::StatusCode::ABORTED: return ErrorCode::kAborted;
    case grpc::StatusCode::UNAVAILABLE: return ErrorCode::kUnavailable;
    case grpc::StatusCode::DEADLINE_EXCEEDED: return ErrorCode::kDeadlineExceeded;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return ErrorCode::kResourceExhausted;
    case grpc::StatusCode::PERMISSION_DENIED: return ErrorCode::kPermissionDenied;
    case grpc::StatusCode::UNIMPLEMENTED: return ErrorCode::kUnimplemented;
    default: return ErrorCode::kInternal;
  }
}

void set_duration(google::protobuf::Duration& out, std::chrono::nanoseconds value) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(value);
  out.set_seconds(seconds.count());
  out.set_nanos(static_cast<std::int32_t>((value - seconds).count()));
}

admin_api::Fault to_message(const std::string& id, const Fault& fault) {
  admin_api::Fault message;
  message.set_id(id);
  message.set_reason("chaos scenario, fault " + fault.id);
  set_duration(*message.mutable_ttl(), fault.ttl);
  auto& http = *message.mutable_match()->mutable_http();
  http.set_method(fault.match.method);
  http.set_path_prefix(fault.match.path_prefix);
  for (const auto& [name, value] : fault.match.headers) {
    (*http.mutable_headers())[name] = value;
  }
  message.mutable_trigger()->set_percent_ppm(fault.trigger.percent_ppm);
  message.mutable_trigger()->set_seed(fault.trigger.seed);
  if (const auto* delay = std::get_if<Delay>(&fault.action)) {
    set_duration(*message.mutable_delay()->mutable_fixed(), delay->fixed);
    if (delay->jitter.count() > 0) {
      set_duration(*message.mutable_delay()->mutable_jitter(), delay->jitter);
    }
  } else {
    message.mutable_abort()->set_status(static_cast<std::uint32_t>(std::get<Abort>(fault.action).status));
  }
  return message;
}

FaultState to_state(const admin_api::Fault& message) { return {message.id(), message.hits(), message.skipped()}; }

class SidecarDriver final : public FaultDriver {
 public:
  SidecarDriver(std::string admin, std::chrono::milliseconds deadline) : admin_(std::move(admin)), deadline_(deadline) {
    grpc::ChannelArguments arguments;
    // A sidecar that restarts is met again at once; gRPC's own first pause is a second.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = admin_api::FaultService::NewStub(grpc::CreateCustomChannel(admin_, grpc::InsecureChannelCredentials(), arguments));
  }

  Result<void> check(const std::string& id, const Fault& fault) override {
    return create(id, fault, true).transform([](const FaultState&) {});
  }
  Result<FaultState> apply(const std::string& id, const Fault& fault) override { return create(id, fault, false); }

  Result<std::vector<FaultState>> armed() override {
    admin_api::ListFaultsResponse response;
    auto called = call([&](grpc::ClientContext& context) { return stub_->ListFaults(&context, admin_api::ListFaultsRequest{}, &response); });
    return called.transform([&] {
      std::vector<FaultState> states;
      for (const auto& fault : response.faults()) {
        states.push_back(to_state(fault));
      }
      return states;
    });
  }

  Result<FaultState> state(const std::string& id) override {
    admin_api::GetFaultRequest request;
    request.set_id(id);
    admin_api::Fault fault;
    return call([&](grpc::ClientContext& context) { return stub_->GetFault(&context, request, &fault); }).transform([&] { return to_state(fault); });
  }

  Result<FaultState> revert(const std::string& id) override {
    admin_api::DeleteFaultRequest request;
    request.set_id(id);
    request.set_reason("chaos scenario, end of the fault");
    admin_api::Fault fault;
    return call([&](grpc::ClientContext& context) { return stub_->DeleteFault(&context, request, &fault); }).transform([&] {
      return to_state(fault);
    });
  }

 private:
  Result<FaultState> create(const std::string& id, const Fault& fault, bool validate_only) {
    admin_api::CreateFaultRequest request;
    *request.mutable_fault() = to_message(id, fault);
    request.set_validate_only(validate_only);
    admin_api::Fault created;
    return call([&](grpc::ClientContext& context) { return stub_->CreateFault(&context, request, &created); }).transform([&] {
      return to_state(created);
    });
  }

  template <class Call>
  Result<void> call(Call&& rpc) {
    grpc::ClientContext context;
    context.AddMetadata("outrigger-actor", "outrigger chaos");
    context.set_deadline(std::chrono::system_clock::now() + deadline_);
    const grpc::Status status = rpc(context);
    if (status.ok()) {
      return {};
    }
    return fail(code_of(status.error_code()), status.error_message(), admin_);
  }

  const std::string admin_;
  const std::chrono::milliseconds deadline_;
  std::unique_ptr<admin_api::FaultService::Stub> stub_;
};

}  // namespace

std::unique_ptr<FaultDriver> make_sidecar_driver(const std::string& admin, std::chrono::milliseconds deadline) {
  return std::make_unique<SidecarDriver>(admin, deadline);
}

}  // namespace outrigger::chaos
