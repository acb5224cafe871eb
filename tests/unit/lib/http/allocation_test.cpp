// Requests on the loop tier cost no allocation once the server is warm: 64 pipelining connections, with metrics and timers.
//
// What the client's own thread allocates does not count.
#include <gtest/gtest.h>

#include "lib/http/server.h"
#include "tests/unit/lib/http/counting_new.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http {
namespace {

constexpr int kConnections = 64;
constexpr int kPipelined = 8;

class LoopTier : public testing::Test {
 protected:
  LoopTier() {
    counting_new::exclude_this_thread();
    Router router;
    router.handle(Method::kGet, "/api/health", [](const RequestView&, Response& response) {
      response.content_type = "application/json";
      response.body = R"({"status":"ok"})";
    });
    server_.emplace(ServerSettings{.name = "test", .loops = 1}, std::move(router), registry_);
    EXPECT_TRUE(server_->start());
    for (int i = 0; i < kConnections; ++i) {
      clients_.emplace_back(server_->port());
    }
    for (int i = 0; i < kPipelined; ++i) {
      requests_ += "GET /api/health HTTP/1.1\r\nHost: localhost:8000\r\nUser-Agent: a client with a name of some length\r\nAccept: */*\r\n\r\n";
    }
  }

  void run_rounds(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (auto& client : clients_) {
        client.send(requests_);
      }
      for (auto& client : clients_) {
        for (int i = 0; i < kPipelined; ++i) {
          ASSERT_EQ(status_of(client.read_answer()), 200);
        }
      }
    }
  }

  telemetry::Registry registry_;
  std::optional<Server> server_;
  std::vector<SocketClient> clients_;
  std::string requests_;
};

TEST_F(LoopTier, AllocatesNothingPerRequestWhenWarm) {
  run_rounds(20);
  counting_new::start();
  run_rounds(50);
  const auto allocations = counting_new::stop();
  EXPECT_EQ(allocations, 0U) << "in " << 50 * kConnections * kPipelined << " requests";
}

// The counter itself works: the same server allocates when it is told to.
TEST_F(LoopTier, TheCounterSeesWhatTheServerAllocates) {
  counting_new::start();
  clients_.front().send("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(clients_.front().read_answer()), 404);
  EXPECT_GT(counting_new::stop(), 0U);
}

}  // namespace
}  // namespace outrigger::http
