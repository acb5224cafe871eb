#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::sidecar::admin::v1 {
class Fault;
}

namespace outrigger::cli {

/// The sidecar's FaultService as the commands use it. Every call has a deadline. Not thread-safe.
///
/// Errors: the code that the sidecar answered; kUnavailable, with what to do, when nobody answers in time.
class FaultClient final {
 public:
  /// `target` is unix:///path, a plain path of a socket, or host:port (no TLS, no authentication: for loopback only).
  FaultClient(const std::string& target, std::chrono::milliseconds deadline);
  ~FaultClient();
  FaultClient(const FaultClient&) = delete;
  FaultClient& operator=(const FaultClient&) = delete;

  [[nodiscard]] Result<sidecar::admin::v1::Fault> create(const sidecar::admin::v1::Fault& fault, bool validate_only);
  [[nodiscard]] Result<std::vector<sidecar::admin::v1::Fault>> list();
  [[nodiscard]] Result<sidecar::admin::v1::Fault> remove(const std::string& id, const std::string& reason);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outrigger::cli
