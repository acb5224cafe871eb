#include "tests/unit/chaos/runner/local_sidecar.h"

#include <httplib.h>

#include <gtest/gtest.h>

#include <thread>

namespace outrigger::chaos {

class LocalSidecar::Web {
 public:
  explicit Web(fault::Engine& engine) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(96); };  // a thread a connection
    server_.set_keep_alive_max_count(1'000'000);
    server_.Get("/api/health", [](const httplib::Request&, httplib::Response& response) { response.set_content("{}", "application/json"); });
    server_.Post("/v1/orders", [&engine](const httplib::Request& request, httplib::Response& response) {
      http::Request seen;
      seen.method = http::Method::kPost;
      seen.path = request.path;
      const auto decision = engine.decide(seen);
      if (decision.delay) {
        std::this_thread::sleep_for(*decision.delay);
      }
      response.status = decision.abort_status.value_or(200);
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    server_.wait_until_ready();
  }
  ~Web() { server_.stop(); }

  [[nodiscard]] int port() const { return port_; }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::jthread thread_;
};

LocalSidecar::LocalSidecar(bool has_faults_enabled)
    : engine_({.is_enabled = has_faults_enabled, .max_faults = 8, .bounds = {}}, registry_), web_(std::make_unique<Web>(engine_)) {
  start_admin();
}

LocalSidecar::~LocalSidecar() = default;

std::string LocalSidecar::url() const { return "http://127.0.0.1:" + std::to_string(web_->port()); }

void LocalSidecar::start_admin() {
  admin_ = std::make_unique<admin::AdminServer>(admin::AdminSettings{.socket = socket_}, engine_, registry_, [](const admin::AuditEntry&) {});
  const auto started = admin_->start();
  ASSERT_TRUE(started) << started.error().to_string();
}

void LocalSidecar::stop_admin() { admin_.reset(); }

}  // namespace outrigger::chaos
