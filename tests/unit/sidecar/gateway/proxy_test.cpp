#include "sidecar/gateway/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/http/server.h"
#include "sidecar/gateway/metrics.h"
#include "tests/unit/lib/http/socket_client.h"
#include "tests/unit/lib/http/socket_server.h"

namespace outrigger::gateway {
namespace {

using http::body_of;
using http::status_of;
using testing::HasSubstr;

class ProxyTest : public testing::Test {
 protected:
  void start(std::uint16_t application_port) {
    upstream.emplace(http::UpstreamSettings{.port = application_port, .max_body_bytes = 1'000}, registry);
    ASSERT_TRUE(upstream->start());
    proxy.emplace(
        settings, *upstream,
        [this](const http::Request&) {
          const std::lock_guard lock(mutex);
          ++decisions;
          return decision;
        },
        registry);
    http::Router router;
    proxy->add_to(router);
    server.emplace(http::ServerSettings{.name = "in", .loops = 1}, std::move(router), registry);
    ASSERT_TRUE(server->start());
  }

  void start() { start(application.port()); }

  void inject(fault::Decision next) {
    const std::lock_guard lock(mutex);
    decision = std::move(next);
  }

  /// True once the faults of that many requests have been decided: inject() does not change them any more.
  bool awaits_decisions(int count) {
    return http::eventually([&] {
      const std::lock_guard lock(mutex);
      return decisions >= count;
    });
  }

  http::SocketClient connect() { return http::SocketClient(server->port()); }

  std::uint64_t count(const std::string& code, const std::string& fault) {
    return registry.counter(metrics::kRequests, {{"code", code}, {"fault", fault}}).value();
  }

  telemetry::Registry registry;
  http::SocketServer application;
  ProxySettings settings;
  std::mutex mutex;
  fault::Decision decision;
  int decisions = 0;
  std::optional<http::Upstream> upstream;
  std::optional<Proxy> proxy;
  std::optional<http::Server> server;
};

constexpr std::string_view kPost = "POST /v1/orders?wait=5s HTTP/1.1\r\nHost: shop\r\nContent-Length: 5\r\nX-Mine: 1\r\n\r\nhello";

TEST_F(ProxyTest, PassesRequestAndAnswerOn) {
  start();
  auto client = connect();
  client.send(kPost);
  auto connection = application.accept();
  const auto request = connection.read_request();
  EXPECT_THAT(request, testing::StartsWith("POST /v1/orders?wait=5s HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nHost: shop\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nX-Mine: 1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nX-Forwarded-For: 127.0.0.1\r\n"));
  EXPECT_THAT(request, testing::ContainsRegex("traceparent: 00-[0-9a-f]+-[0-9a-f]+-01"));
  EXPECT_THAT(request, testing::EndsWith("\r\n\r\nhello"));
  connection.send(
      "HTTP/1.1 202 Accepted\r\nLocation: /v1/orders/7\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5\r\n\r\n4\r\ndone\r\n0\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 202);
  EXPECT_EQ(body_of(answer), "done");
  EXPECT_THAT(*answer, HasSubstr("Location: /v1/orders/7\r\n"));
  EXPECT_THAT(*answer, HasSubstr("Via: 1.1 outrigger\r\n"));
  EXPECT_THAT(*answer, testing::Not(HasSubstr("Keep-Alive")));
  EXPECT_EQ(count("202", "none"), 1U);
}

TEST_F(ProxyTest, ContinuesTheTraceOfTheClient) {
  start();
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntracestate: v=1\r\n\r\n");
  const auto request = application.accept().read_request();
  EXPECT_THAT(request, HasSubstr("traceparent: 00-0af7651916cd43dd8448eb211c80319c-"));
  EXPECT_THAT(request, testing::Not(HasSubstr("b7ad6b7169203331")));
  EXPECT_THAT(request, HasSubstr("tracestate: v=1\r\n"));
}

TEST_F(ProxyTest, HeadKeepsTheLengthOfTheApplication) {
  start();
  auto client = connect();
  client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  auto connection = application.accept();
  connection.read_request();
  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4711\r\n\r\n");
  EXPECT_THAT(client.read_answer(false).value_or(""), HasSubstr("Content-Length: 4711\r\n"));
}

TEST_F(ProxyTest, NobodyListeningIs503WithRetryAfter) {
  std::uint16_t port = 0;
  {
    const http::SocketServer gone;
    port = gone.port();
  }
  start(port);
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_THAT(*answer, HasSubstr("Retry-After: "));
  EXPECT_THAT(*answer, HasSubstr("application/problem+json"));
  EXPECT_EQ(count("503", "none"), 1U);
}

TEST_F(ProxyTest, ASilentApplicationIs504) {
  settings.deadline = std::chrono::milliseconds(50);
  start();
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  auto connection = application.accept();
  EXPECT_EQ(status_of(client.read_answer()), 504);
}

TEST_F(ProxyTest, ABrokenConnectionIs502) {
  start();
  auto client = connect();
  client.send(kPost);
  {
    auto connection = application.accept();
    connection.read_request();
  }
  EXPECT_EQ(status_of(client.read_answer()), 502);
}

TEST_F(ProxyTest, AnAnswerThatCannotBeUsedIs502) {
  start();
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  auto connection = application.accept();
  connection.read_request();
  connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), 502);
}

TEST_F(ProxyTest, AnAbortNeverReachesTheApplication) {
  inject({.delay = {}, .abort_status = 418, .faults = "teapot"});
  start();
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 418);
  EXPECT_THAT(*answer, HasSubstr("outrigger-fault: teapot\r\n"));
  EXPECT_EQ(count("418", "teapot"), 1U);
  inject({});
  client.send("GET /after HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(application.accept().read_request(), testing::StartsWith("GET /after "));
}

TEST_F(ProxyTest, ADelayHoldsTheRequestBackAndMarksTheAnswer) {
  inject({.delay = std::chrono::milliseconds(30), .abort_status = {}, .faults = "slow"});
  start();
  auto client = connect();
  const auto began = std::chrono::steady_clock::now();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  auto connection = application.accept();
  connection.read_request();
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(30));
  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(client.read_answer().value_or(""), HasSubstr("outrigger-fault: slow\r\n"));
  EXPECT_EQ(count("200", "slow"), 1U);
}

TEST_F(ProxyTest, ADelayHoldsNoThread) {
  inject({.delay = std::chrono::seconds(30), .abort_status = {}, .faults = "slow"});
  settings.deadline = std::chrono::seconds(60);
  start();
  auto slow = connect();
  slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(awaits_decisions(1));
  inject({});
  auto quick = connect();
  quick.send("GET /quick HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(application.accept().read_request(), testing::StartsWith("GET /quick "));
}

TEST_F(ProxyTest, ADelayBeyondTheDeadlineIs504LikeASlowApplication) {
  inject({.delay = std::chrono::minutes(1), .abort_status = {}, .faults = "slow"});
  settings.deadline = std::chrono::milliseconds(30);
  start();
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 504);
  EXPECT_THAT(*answer, HasSubstr("outrigger-fault: slow\r\n"));
}

constexpr std::string_view kGet = "GET /events HTTP/1.1\r\nHost: shop\r\n\r\n";
constexpr std::string_view kChunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_F(ProxyTest, AnAnswerIsPassedOnAsItComes) {
  start();
  auto client = connect();
  client.send(kGet);
  auto connection = application.accept();
  connection.read_request();
  connection.send(kChunkedHead);
  const auto head = client.read_answer(false);
  EXPECT_EQ(status_of(head), 200);
  EXPECT_THAT(*head, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(*head, HasSubstr("Via: 1.1 outrigger\r\n"));
  for (const std::string event : {"one", "two"}) {
    connection.send("3\r\n" + event + "\r\n");
    EXPECT_EQ(client.read_bytes(8), "3\r\n" + event + "\r\n") << "before the next one was sent";
  }
  connection.send("0\r\n\r\n");
  EXPECT_EQ(client.read_bytes(5), "0\r\n\r\n");
  EXPECT_EQ(count("200", "none"), 1U);
  client.send(kGet);
  EXPECT_THAT(connection.read_request(), testing::StartsWith("GET /events")) << "both connections are kept";
}

TEST_F(ProxyTest, ALongAnswerKeepsItsLength) {
  start();
  auto client = connect();
  client.send(kGet);
  auto connection = application.accept();
  connection.read_request();
  const std::string body(2'000'000, 'x');
  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n");
  connection.send(body);
  const auto answer = client.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->substr(0, 300), HasSubstr("Content-Length: 2000000\r\n"));
  EXPECT_EQ(body_of(answer), body);
}

TEST_F(ProxyTest, AnAnswerThatBreaksOffIsNoWholeAnswer) {
  start();
  auto client = connect();
  client.send(kGet);
  {
    auto connection = application.accept();
    connection.read_request();
    connection.send(kChunkedHead);
    EXPECT_EQ(status_of(client.read_answer(false)), 200);
    connection.send("3\r\none\r\n");
    EXPECT_EQ(client.read_bytes(8), "3\r\none\r\n");
  }
  const auto rest = client.read_to_end();
  ASSERT_TRUE(rest.has_value()) << "the connection is closed";
  EXPECT_EQ(*rest, "") << "and the last chunk is not there";
}

TEST_F(ProxyTest, TheApplicationIsLetGoWhenTheClientGoes) {
  start();
  std::optional<http::SocketClient> client(connect());
  client->send(kGet);
  auto connection = application.accept();
  connection.read_request();
  connection.send(kChunkedHead);
  EXPECT_EQ(status_of(client->read_answer(false)), 200);
  client.reset();
  EXPECT_EQ(connection.read_request(), "") << "the end of the connection";
}

TEST_F(ProxyTest, AClientThatDoesNotReadHoldsTheApplicationUp) {
  start();
  auto client = connect();
  client.send(kGet);
  auto connection = application.accept();
  connection.read_request();
  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer(false)), 200);
  const auto taken = connection.send_what_fits(200'000'000);
  EXPECT_LT(taken, 100'000'000U) << "what the proxy and the kernels' buffers hold is bounded";
  EXPECT_EQ(client.read_bytes(taken).size(), taken);
  EXPECT_GT(connection.send_what_fits(1'000'000), 0U) << "and the client's reading lets the application go on";
}

}  // namespace
}  // namespace outrigger::gateway
