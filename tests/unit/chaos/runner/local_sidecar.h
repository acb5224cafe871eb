#pragma once

#include <memory>
#include <string>

#include "lib/telemetry/metrics.h"
#include "sidecar/admin/admin_server.h"
#include "sidecar/fault/engine.h"
#include "tests/support/temporary_folder.h"

namespace outrigger::chaos {

/// The sidecar's fault engine and its admin API on a unix socket, and in front of the engine an HTTP server on a free port that obeys it:
/// GET /api/health and POST /v1/orders answer 200.
class LocalSidecar final {
 public:
  explicit LocalSidecar(bool has_faults_enabled = true);
  ~LocalSidecar();
  LocalSidecar(const LocalSidecar&) = delete;
  LocalSidecar& operator=(const LocalSidecar&) = delete;

  [[nodiscard]] fault::Engine& engine() { return engine_; }
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::string admin() const { return "unix://" + socket_.string(); }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

  void start_admin();
  void stop_admin();

 private:
  class Web;

  testing::TemporaryFolder folder_;
  std::filesystem::path socket_ = folder_.path() / "admin.sock";
  telemetry::Registry registry_;
  fault::Engine engine_;
  std::unique_ptr<admin::AdminServer> admin_;
  std::unique_ptr<Web> web_;
};

}  // namespace outrigger::chaos
