#include "sidecar/admin/admin_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <format>
#include <tuple>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "grpc/health/v1/health.pb.h"
#include "lib/telemetry/log.h"
#include "sidecar/admin/internal/fault_service.h"
#include "sidecar/admin/internal/unix_socket.h"

namespace outrigger::admin {

void log_audit(const AuditEntry& entry) {
  telemetry::log(telemetry::LogLevel::kWarning, "admin audit",
                 {{"action", entry.action},
                  {"subject", entry.subject},
                  {"peer", entry.peer},
                  {"actor", entry.actor},
                  {"reason", entry.reason},
                  {"outcome", entry.outcome}});
}

struct AdminServer::State {
  AdminSettings settings;
  std::unique_ptr<grpc::Service> service;
  internal::SocketClaim claim;
  std::unique_ptr<grpc::Server> server;
};

AdminServer::AdminServer(AdminSettings settings, fault::Engine& engine, telemetry::Registry& registry, AuditSink audit)
    : state_(std::make_unique<State>(std::move(settings), internal::make_fault_service(engine, registry, std::move(audit)))) {}

AdminServer::~AdminServer() { stop(std::chrono::milliseconds{0}); }

Result<void> AdminServer::start() {
  State& state = *state_;
  auto claim = internal::SocketClaim::take(state.settings.socket);
  if (!claim) {
    return std::unexpected(claim.error());
  }
  state.claim = std::move(*claim);

  grpc::EnableDefaultHealthCheckService(true);
  std::ignore = grpc::health::v1::HealthCheckRequest::descriptor();  // links the description in, for reflection
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + state.settings.socket.string(), grpc::InsecureServerCredentials());
  builder.RegisterService(state.service.get());
  builder.SetMaxReceiveMessageSize(static_cast<int>(state.settings.max_message_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(state.settings.max_concurrent_calls));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
  // Reflection and health are what still uses the synchronous threads.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  // The umask is the process's: this runs at start-up, before other threads make files. The socket is never open to others.
  const mode_t before = umask(0177);
  state.server = builder.BuildAndStart();
  umask(before);
  if (!state.server) {
    return fail(ErrorCode::kUnavailable, "the admin socket cannot be bound: does its folder exist, and may this user write to it?",
                state.settings.socket.string());
  }
  state.server->GetHealthCheckService()->SetServingStatus(true);
  state.server->GetHealthCheckService()->SetServingStatus("outrigger.sidecar.admin.v1.FaultService", true);
  return {};
}

void AdminServer::begin_drain() {
  if (state_->server) {
    state_->server->GetHealthCheckService()->SetServingStatus(false);
  }
}

void AdminServer::stop(std::chrono::milliseconds patience) {
  if (state_->server) {
    state_->server->Shutdown(std::chrono::system_clock::now() + patience);
    state_->server->Wait();
    state_->server.reset();
    unlink(state_->settings.socket.c_str());
  }
}

}  // namespace outrigger::admin
