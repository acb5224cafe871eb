#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "sidecar/fault/engine.h"

namespace outrigger::admin {

/// One change, or attempt at one, through the admin API.
struct AuditEntry {
  std::string action;   ///< "fault.create", "fault.delete"
  std::string subject;  ///< id of the fault
  std::string peer;     ///< of the connection, from gRPC
  std::string actor;    ///< who the client says it is (metadata `outrigger-actor`), unproven; may be empty
  std::string reason;
  std::string outcome;  ///< "ok", or the error's name
};

/// Takes every entry; called on gRPC's threads, must not block.
using AuditSink = std::function<void(const AuditEntry&)>;

/// Writes the entry to the log.
void log_audit(const AuditEntry& entry);

struct AdminSettings {
  std::filesystem::path socket = "/run/outrigger/admin.sock";
  std::size_t max_message_bytes = 64U << 10U;  ///< of a request
  unsigned max_concurrent_calls = 16;          ///< a connection
};

/// The gRPC admin API on a unix socket that only its owner (mode 0600) can open: FaultService (api/outrigger/sidecar/admin/v1),
/// grpc.health.v1 and server reflection, on gRPC's own threads.
///
/// `engine` and `registry` must outlive it. Thread-safe. The destructor stops it.
class AdminServer final {
 public:
  AdminServer(AdminSettings settings, fault::Engine& engine, telemetry::Registry& registry, AuditSink audit = log_audit);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  /// Binds and serves. The socket that a dead process left is removed; one that a living process serves is not touched.
  /// Errors: kUnavailable (in use, or the folder cannot be written), kInvalidArgument (path too long, or a file that is no socket).
  [[nodiscard]] Result<void> start();

  /// grpc.health.v1 answers NOT_SERVING from now on.
  void begin_drain();

  /// Lets calls end until the deadline, cuts the others off, removes the socket.
  void stop(std::chrono::milliseconds patience);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outrigger::admin
