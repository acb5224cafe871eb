#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "lib/http/server.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http {
namespace {

class Drain : public testing::Test {
 protected:
  Drain() : server_({.name = "test", .loops = 2}, routes(), registry_) {
    const auto started = server_.start();
    EXPECT_TRUE(started) << started.error().to_string();
  }

  Router routes() {
    Router router;
    router.handle(Method::kGet, "/hello", [](const RequestView&, Response& response) { response.body = "hello"; });
    router.defer(Method::kGet, "/later", [this](Request, Responder responder) { later_.set_value(std::move(responder)); });
    return router;
  }

  std::future<std::size_t> drain(std::chrono::seconds time) {
    return std::async(std::launch::async, [this, time] { return server_.drain(std::chrono::steady_clock::now() + time); });
  }

  std::promise<Responder> later_;
  telemetry::Registry registry_;
  Server server_;
};

TEST_F(Drain, BeginDrainAsksClientsToCloseAndStillAccepts) {
  SocketClient before(server_.port());
  before.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(before.read_answer().value_or(""), testing::Not(testing::HasSubstr("Connection: close")));
  server_.begin_drain();
  before.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(before.read_to_end().value_or(""), testing::HasSubstr("Connection: close"));
  SocketClient after(server_.port());
  after.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(body_of(after.read_to_end()), "hello");
}

TEST_F(Drain, WaitsForTheRequestInFlight) {
  SocketClient client(server_.port());
  client.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
  auto responder = later_.get_future().get();
  auto drained = drain(std::chrono::seconds(10));
  // The listener is closed first; then only the request is left.
  ASSERT_TRUE(eventually([&] { return !SocketClient(server_.port()).is_connected(); }));
  EXPECT_EQ(drained.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  responder.send(Response::text(200, "done"));
  const auto answer = client.read_to_end();
  EXPECT_EQ(body_of(answer), "done");
  EXPECT_THAT(answer.value_or(""), testing::HasSubstr("Connection: close"));
  EXPECT_EQ(drained.get(), 0U);
}

TEST_F(Drain, ClosesIdleConnections) {
  SocketClient client(server_.port());
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_EQ(status_of(client.read_answer()), 200);
  auto drained = drain(std::chrono::seconds(10));
  EXPECT_TRUE(client.waits_for_end());
  EXPECT_EQ(drained.get(), 0U);
}

TEST_F(Drain, CutsOffAtTheDeadlineAndSaysHowMany) {
  SocketClient client(server_.port());
  client.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
  auto responder = later_.get_future().get();
  EXPECT_EQ(drain(std::chrono::seconds(0)).get(), 1U);
  EXPECT_TRUE(client.waits_for_end());
  responder.send(Response::text(200, "too late"));
}

TEST_F(Drain, ServesWhoWaitsInTheAcceptQueue) {
  std::vector<SocketClient> clients;
  for (int i = 0; i < 50; ++i) {
    clients.emplace_back(server_.port()).send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  auto drained = drain(std::chrono::seconds(10));
  for (auto& client : clients) {
    EXPECT_EQ(body_of(client.read_answer()), "hello");
    client.close();
  }
  EXPECT_EQ(drained.get(), 0U);
}

}  // namespace
}  // namespace outrigger::http
