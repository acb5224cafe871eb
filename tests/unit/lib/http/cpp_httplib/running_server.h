#pragma once

#include <httplib.h>

#include <memory>
#include <string>
#include <thread>

#include "lib/http/cpp_httplib/server.h"

namespace outrigger::http::cpp_httplib {

/// A server of either type on a free port, listening on a thread of its own until the end of the test.
template <class ServerType>
class RunningServer final {
 public:
  template <class Register>
  explicit RunningServer(Register register_handlers) : server_(std::make_unique<ServerType>()) {
    start(register_handlers);
  }
  template <class Register>
  RunningServer(Register register_handlers, Settings settings) : server_(std::make_unique<ServerType>(std::move(settings))) {
    start(register_handlers);
  }
  ~RunningServer() { stop(); }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  void stop() {
    server_->stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  [[nodiscard]] ServerType& server() { return *server_; }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] httplib::Client client() const {
    httplib::Client client("127.0.0.1", port_);
    client.set_connection_timeout(5);
    client.set_read_timeout(10);
    // Stock compresses for a client that takes it; differences_test.cpp shows that on its own.
    client.set_default_headers({{"Accept-Encoding", "identity"}});
    return client;
  }

 private:
  template <class Register>
  void start(Register register_handlers) {
    register_handlers(*server_);
    port_ = server_->bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    server_->wait_until_ready();
  }

  std::unique_ptr<ServerType> server_;
  int port_ = -1;
  std::thread thread_;
};

template <class ServerType>
inline constexpr bool kIsStock = std::is_same_v<ServerType, httplib::Server>;

}  // namespace outrigger::http::cpp_httplib
