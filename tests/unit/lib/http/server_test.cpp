#include "lib/http/server.h"
#include "lib/http/operations.h"
#include "lib/telemetry/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http {
namespace {

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    settings.name = "test";
    settings.loops = 1;
    router.handle(Method::kGet, "/hello", [](const RequestView&, Response& response) { response.body = "hello"; });
    router.handle(Method::kPost, "/echo", [](const RequestView& request, Response& response) { response.body = request.body; });
    router.handle(Method::kGet, "/big", [](const RequestView&, Response& response) { response.body.assign(8U << 20U, 'x'); });
    router.handle(Method::kGet, "/throws", [](const RequestView&, Response&) { throw std::runtime_error("secret text"); });
    router.handle(Method::kGet, "/splits",
                  [](const RequestView&, Response& response) { response.headers.emplace_back("X-Input", "a\r\nSet-Cookie: z"); });
    router.defer(Method::kGet, "/later/:name", [this](Request request, Responder responder) {
      const std::lock_guard lock(mutex);
      waiting.emplace_back(std::move(request), std::move(responder));
    });
    router.defer(Method::kGet, "/dropped", [](Request, Responder) {});
  }

  void start() {
    server.emplace(settings, std::move(router), registry);
    const auto started = server->start();
    ASSERT_TRUE(started) << started.error().to_string();
  }

  SocketClient connect() { return SocketClient(server->port()); }

  bool eventually_waiting(std::size_t count) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return waiting.size() == count;
    });
  }

  void answer(std::size_t index, std::string body) {
    std::unique_lock lock(mutex);
    auto responder = std::move(waiting[index].second);
    lock.unlock();
    responder.send(Response::text(200, std::move(body)));
  }

  double limit_count(const std::string& limit) {
    return static_cast<double>(registry
                                   .counter({"outrigger_http_limit_reached_total", "How often a limit of the listener was reached, by limit."},
                                            {{"listener", "test"}, {"limit", limit}})
                                   .value());
  }

  telemetry::Registry registry;
  ServerSettings settings;
  Router router;
  std::mutex mutex;
  std::vector<std::pair<Request, Responder>> waiting;
  std::optional<Server> server;
};

TEST_F(ServerTest, AnswersWithLengthAndDate) {
  start();
  auto client = connect();
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), "hello");
  EXPECT_THAT(*answer, testing::HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(*answer, testing::ContainsRegex("\r\nDate: [A-Z][a-z][a-z], [0-9][0-9] [A-Z][a-z][a-z] 20[0-9][0-9] [0-9:]+ GMT\r\n"));
}

TEST_F(ServerTest, KeepsTheConnectionForTheNextRequest) {
  start();
  auto client = connect();
  for (int i = 0; i < 3; ++i) {
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(body_of(client.read_answer()), "hello");
  }
  EXPECT_EQ(server->stats().connections, 1U);
  EXPECT_EQ(server->stats().requests, 3U);
}

TEST_F(ServerTest, ClosesWhenTheClientAsks) {
  start();
  auto client = connect();
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n");
  const auto answer = client.read_to_end();
  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, testing::HasSubstr("Connection: close\r\n"));
}

TEST_F(ServerTest, ClosesAfterAnHttp10RequestUnlessItAsksToKeep) {
  start();
  auto client = connect();
  client.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(client.read_answer().value_or(""), testing::HasSubstr("Connection: keep-alive\r\n"));
  client.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(body_of(client.read_to_end()), "hello");
}

TEST_F(ServerTest, ServesHeadWithTheLengthAndNoBody) {
  start();
  auto client = connect();
  client.send("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.read_answer(false).value_or(""), testing::HasSubstr("Content-Length: 5\r\n"));
  EXPECT_EQ(body_of(client.read_answer()), "hello");
}

TEST_F(ServerTest, ReadsChunkedBodiesInAnyPieces) {
  start();
  auto client = connect();
  for (const char c :
       std::string_view("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n")) {
    ASSERT_TRUE(client.send({&c, 1}));
  }
  EXPECT_EQ(body_of(client.read_answer()), "abcde");
}

TEST_F(ServerTest, PostWithoutLengthHasAnEmptyBody) {
  start();
  auto client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), "");
}

TEST_F(ServerTest, SendsABigBodyWhole) {
  start();
  auto client = connect();
  client.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()).size(), 8U << 20U);
}

TEST_F(ServerTest, AHandlerThatThrowsLeaksNothing) {
  start();
  auto client = connect();
  client.send("GET /throws HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 500);
  EXPECT_THAT(*answer, testing::Not(testing::HasSubstr("secret")));
}

TEST_F(ServerTest, AHeaderValueCannotSplitTheAnswer) {
  start();
  auto client = connect();
  client.send("GET /splits HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 500);
  EXPECT_THAT(*answer, testing::Not(testing::HasSubstr("Set-Cookie")));
}

TEST_F(ServerTest, UnknownPathIs404AndWrongMethod405WithAllow) {
  start();
  auto client = connect();
  client.send("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\nDELETE /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), 404);
  const auto answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 405);
  EXPECT_THAT(*answer, testing::HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST_F(ServerTest, PipelinedAnswersKeepTheOrderOfTheRequests) {
  start();
  auto client = connect();
  client.send("GET /later/first HTTP/1.1\r\nHost: a\r\n\r\nGET /later/second HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually_waiting(2));
  EXPECT_EQ(server->stats().requests_in_flight, 2U);
  answer(1, "second");
  answer(0, "first");
  EXPECT_EQ(body_of(client.read_answer()), "first");
  EXPECT_EQ(body_of(client.read_answer()), "second");
  EXPECT_EQ(body_of(client.read_answer()), "hello");
  EXPECT_EQ(server->stats().requests_in_flight, 0U);
}

TEST_F(ServerTest, ManyPipelinedRequestsAreAllAnswered) {
  start();
  auto client = connect();
  std::string requests;
  for (int i = 0; i < 500; ++i) {
    requests += i % 50 == 0 ? "GET /dropped HTTP/1.1\r\nHost: a\r\n\r\n" : "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  client.send(requests);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(status_of(client.read_answer()), i % 50 == 0 ? 500 : 200) << i;
  }
}

TEST_F(ServerTest, MorePipelinedThanItHoldsWaitsAndGoesOn) {
  start();
  auto client = connect();
  constexpr std::size_t kRequests = 100;
  std::string requests;
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests += "GET /later/x HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  client.send(requests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex);
      return waiting.size() > i;
    }));
    EXPECT_LE(server->stats().requests_in_flight, 32U);
    answer(i, std::to_string(i));
    ASSERT_EQ(body_of(client.read_answer()), std::to_string(i));
  }
}

TEST_F(ServerTest, AnUnusedResponderAnswers500) {
  start();
  auto client = connect();
  client.send("GET /dropped HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), 500);
}

TEST_F(ServerTest, ALateAnswerToAGoneClientHarmsNobody) {
  start();
  {
    auto client = connect();
    client.send("GET /later/x HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually_waiting(1));
    client.reset();
  }
  ASSERT_TRUE(eventually([&] { return server->stats().connections == 0; }));
  EXPECT_EQ(server->stats().requests_in_flight, 0U);
  answer(0, "late");
  auto client = connect();
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), 200);
}

TEST_F(ServerTest, TellsAHandlerThatTheClientHasGone) {
  std::atomic<bool> gone = false;
  router.defer(Method::kGet, "/watch", [&](Request request, Responder responder) {
    responder.on_gone([&] { gone = true; });
    const std::lock_guard lock(mutex);
    waiting.emplace_back(std::move(request), std::move(responder));
  });
  start();
  {
    auto client = connect();
    client.send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually_waiting(1));
  }
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
}

TEST_F(ServerTest, AHalfClosedClientStillGetsItsAnswer) {
  start();
  auto client = connect();
  client.send("GET /later/x HTTP/1.1\r\nHost: a\r\n\r\n");
  client.shut_down_sending();
  ASSERT_TRUE(eventually_waiting(1));
  answer(0, "here");
  EXPECT_EQ(body_of(client.read_to_end()), "here");
}

TEST_F(ServerTest, SendsContinueWhenTheBodyIsWanted) {
  start();
  auto client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), 100);
  client.send("body");
  EXPECT_EQ(body_of(client.read_answer()), "body");
}

TEST_F(ServerTest, RefusesInsteadOfContinueWhenTheBodyIsTooLargeOrThePathUnknown) {
  settings.max_body_bytes = 100;
  start();
  auto large = connect();
  large.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(large.read_answer()), 413);
  EXPECT_TRUE(large.waits_for_end());
  auto unknown = connect();
  unknown.send("POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(unknown.read_answer()), 404);
  EXPECT_TRUE(unknown.waits_for_end());
}

TEST_F(ServerTest, PeerAddressComesFromTheSocketNeverFromAHeader) {
  router.handle(Method::kGet, "/peer", [](const RequestView& request, Response& response) { response.body = request.peer_address; });
  start();
  auto client = connect();
  client.send("GET /peer HTTP/1.1\r\nHost: a\r\nREMOTE_ADDR: 6.6.6.6\r\n\r\n");
  EXPECT_THAT(body_of(client.read_answer()), testing::StartsWith("127.0.0.1:"));
}

TEST_F(ServerTest, CountsRequestsByRoutePatternAndCode) {
  start();
  auto client = connect();
  client.send("GET /later/one HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually_waiting(1));
  answer(0, "");
  client.read_answer();
  auto& counter = registry.counter({"outrigger_http_requests_total", "Requests answered, by listener, route pattern and status code."},
                                   {{"listener", "test"}, {"route", "/later/:name"}, {"code", "200"}});
  EXPECT_EQ(counter.value(), 1U);
}

// A rate over a counter that is born with the first error shows nothing.
TEST_F(ServerTest, ServerErrorsOfEveryRouteAndEveryLimitAreCountedFromZero) {
  start();
  const auto text = telemetry::serialize(registry.Collect(), telemetry::ExpositionFormat::kPrometheusText);
  EXPECT_THAT(text, testing::HasSubstr("outrigger_http_requests_total{listener=\"test\",route=\"/hello\",code=\"500\"} 0\n"));
  EXPECT_THAT(text, testing::HasSubstr("outrigger_http_requests_total{listener=\"test\",route=\"/later/:name\",code=\"503\"} 0\n"));
  EXPECT_THAT(text, testing::HasSubstr("outrigger_http_limit_reached_total{listener=\"test\",limit=\"write_deadline\"} 0\n"));
}

TEST_F(ServerTest, ListsWhatIsInFlightWithRouteAndStage) {
  start();
  Server operations({.name = "operations", .loops = 1}, make_operations_router(registry, {}, {&*server}), registry);
  ASSERT_TRUE(operations.start());
  auto waiting_client = connect();
  waiting_client.send("GET /later/x HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /later/y HT");
  auto sending_client = connect();
  sending_client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  ASSERT_TRUE(eventually_waiting(1));
  const auto listed = [&] {
    SocketClient client(operations.port());
    client.send("GET /requests HTTP/1.1\r\nHost: a\r\n\r\n");
    return body_of(client.read_answer());
  };
  ASSERT_TRUE(eventually([&] { return listed().contains(R"("method":"POST","route":"","stage":"body")"); }));
  EXPECT_THAT(listed(), testing::HasSubstr(R"("method":"GET","route":"/later/:name","stage":"handler")"));
  EXPECT_THAT(listed(), testing::HasSubstr(R"("method":"GET","route":"/hello","stage":"queued")"));
  EXPECT_THAT(listed(), testing::HasSubstr(R"("method":"","route":"","stage":"head")"));
  EXPECT_THAT(listed(), testing::StartsWith(R"({"requests":[{"listener":"test","peer":"127.0.0.1:)"));
  answer(0, "");
  ASSERT_TRUE(eventually([&] { return !listed().contains("handler"); }));
  server->drain(std::chrono::steady_clock::now());
  EXPECT_EQ(listed(), R"({"requests":[],"truncated":false})");
}

TEST_F(ServerTest, RefusesAPortThatAnotherServerHas) {
  start();
  settings.port = server->port();
  Server second(settings, Router(), registry);
  const auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
}

TEST_F(ServerTest, RefusesAnAddressThatIsNone) {
  settings.address = "localhost";
  Server bad(settings, Router(), registry);
  const auto started = bad.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ServerTest, SeveralLoopsShareOnePort) {
  settings.loops = 3;
  start();
  for (int i = 0; i < 30; ++i) {
    auto client = connect();
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_EQ(status_of(client.read_answer()), 200);
  }
}

}  // namespace
}  // namespace outrigger::http
