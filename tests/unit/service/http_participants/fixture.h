#pragma once

#include <format>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/http_participants/http_transport.h"
#include "service/http_participants/metrics.h"
#include "tests/support/replies.h"
#include "tests/unit/lib/http/socket_server.h"

namespace outrigger::http_participants {

using saga::Replies;

class TransportTest : public testing::Test {
 protected:
  using Connection = http::SocketServer::Connection;

  TransportTest() { settings_.circuit.failures_to_open = 1'000; }
  ~TransportTest() override { stop(); }

  HttpTransport& transport() {
    if (!transport_) {
      transport_ = std::make_unique<HttpTransport>(settings_, registry_);
      transport_->start(replies_);
    }
    return *transport_;
  }
  void stop() {
    if (transport_) {
      transport_->stop();
    }
  }

  participant::Command command(std::string saga = "p1-a", std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
    return {.saga_id = std::move(saga),
            .partition = 1,
            .step = "reserve",
            .type = "Reserve",
            .destination = std::format("http://127.0.0.1:{}/reserve", server_.port()),
            .payload = R"({"input":{"n":1},"outputs":{}})",
            .deadline = wall_now() + timeout,
            .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
  }

  /// The reply to one command that is answered with these bytes, the connection then closed.
  participant::Reply answered_with(std::string_view bytes) {
    const auto before = count_++;
    EXPECT_TRUE(transport().offer(command()));
    auto connection = server_.accept();
    request_ = connection.read_request();
    connection.send(bytes);
    connection.close();
    const auto replies = replies_.wait_for(before + 1);
    return replies.size() > before ? replies[before] : participant::Reply{};
  }

  std::string name() const { return std::format("127.0.0.1:{}", server_.port()); }
  std::uint64_t commands(const std::string& result) {
    return registry_.counter(metrics::kCommands, {{"participant", name()}, {"result", result}}).value();
  }
  double gauge(const telemetry::MetricInfo& info) { return registry_.gauge(info, {{"participant", name()}}).value(); }

  telemetry::Registry registry_;
  Settings settings_;
  http::SocketServer server_;
  Replies replies_;
  std::string request_;
  std::size_t count_ = 0;
  std::unique_ptr<HttpTransport> transport_;
};

/// Polls until it holds; fails the test after ten seconds.
template <class Condition>
void eventually(Condition holds, const char* what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << what;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline std::string http_answer(std::string_view status, std::string_view headers, std::string_view body) {
  return std::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n\r\n{}", status, headers, body.size(), body);
}

}  // namespace outrigger::http_participants
