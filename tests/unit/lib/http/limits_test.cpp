// Every bound of ServerSettings: reached, answered as it says, counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "lib/http/metrics.h"
#include "lib/http/server.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http {
namespace {

using std::chrono::milliseconds;

class Limits : public testing::Test {
 protected:
  Limits() {
    settings.name = "test";
    settings.loops = 1;
    router.handle(Method::kGet, "/*", [](const RequestView&, Response& response) { response.body = "ok"; });
    router.handle(Method::kPost, "/*", [](const RequestView&, Response& response) { response.body = "ok"; });
    router.handle(Method::kGet, "/big", [](const RequestView&, Response& response) { response.body.assign(64U << 20U, 'x'); });
    router.defer(Method::kGet, "/never", [this](Request, Responder responder) { kept.push_back(std::move(responder)); });
  }

  void start() {
    server.emplace(settings, std::move(router), registry);
    const auto started = server->start();
    ASSERT_TRUE(started) << started.error().to_string();
  }

  SocketClient connect() { return SocketClient(server->port()); }

  std::uint64_t count(const std::string& limit) { return registry.counter(metrics::kLimitReached, {{"listener", "test"}, {"limit", limit}}).value(); }

  void expect_refusal(SocketClient& client, int status, const std::string& limit) {
    EXPECT_EQ(status_of(client.read_answer()), status);
    EXPECT_TRUE(client.waits_for_end());
    EXPECT_EQ(count(limit), 1U);
  }

  telemetry::Registry registry;
  ServerSettings settings;
  Router router;
  std::vector<Responder> kept;
  std::optional<Server> server;
};

TEST_F(Limits, ATargetTooLongIs414) {
  settings.max_target_bytes = 100;
  start();
  auto client = connect();
  client.send("GET /" + std::string(100, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_refusal(client, 414, "target_bytes");
}

TEST_F(Limits, AHeadTooLargeIs431EvenBeforeItEnds) {
  settings.max_head_bytes = 1000;
  start();
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(1000, 'a'));
  expect_refusal(client, 431, "head_bytes");
}

TEST_F(Limits, EndlessEmptyLinesAre431) {
  settings.max_head_bytes = 1000;
  start();
  auto client = connect();
  std::string lines;
  while (lines.size() <= 1000) {
    lines += "\r\n";
  }
  client.send(lines);
  expect_refusal(client, 431, "head_bytes");
}

TEST_F(Limits, TooManyFieldsAre431) {
  settings.max_header_fields = 10;
  start();
  auto client = connect();
  std::string request = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 10; ++i) {
    request += "A: b\r\n";
  }
  client.send(request + "\r\n");
  expect_refusal(client, 431, "header_fields");
}

TEST_F(Limits, TrailersCountAsFields) {
  settings.max_header_fields = 10;
  start();
  auto client = connect();
  std::string request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (int i = 0; i < 9; ++i) {
    request += "A: b\r\n";
  }
  client.send(request + "\r\n");
  expect_refusal(client, 431, "header_fields");
}

TEST_F(Limits, ADeclaredBodyTooLargeIs413) {
  settings.max_body_bytes = 100;
  start();
  auto client = connect();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x'));
  expect_refusal(client, 413, "body_bytes");
}

TEST_F(Limits, AChunkedBodyTooLargeIs413) {
  settings.max_body_bytes = 100;
  start();
  auto client = connect();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n" + std::string(50, 'x') + "\r\n33\r\n");
  expect_refusal(client, 413, "body_bytes");
}

TEST_F(Limits, TheLargestBodyIsServed) {
  settings.max_body_bytes = 100;
  start();
  auto client = connect();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'));
  EXPECT_EQ(status_of(client.read_answer()), 200);
}

TEST_F(Limits, AnEndlessChunkExtensionIsRefused) {
  start();
  auto client = connect();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(20'000, 'x'));
  expect_refusal(client, 400, "chunk_framing");
}

TEST_F(Limits, OneByteChunksAreServed) {
  start();
  auto client = connect();
  std::string request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 10'000; ++i) {
    request += "1\r\nx\r\n";
  }
  client.send(request + "0\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), 200);
}

TEST_F(Limits, AHeadThatDripsIs408AtTheAbsoluteDeadline) {
  settings.head_deadline = milliseconds(100);
  start();
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n");
  // Each byte would renew a time-out per read; the deadline stands.
  while (client.send("X: a\r\n") && count("head_deadline") == 0) {
    ::poll(nullptr, 0, 5);
  }
  expect_refusal(client, 408, "head_deadline");
}

TEST_F(Limits, ABodyThatStopsIs408) {
  settings.body_idle = milliseconds(50);
  start();
  auto client = connect();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  expect_refusal(client, 408, "body_idle");
}

TEST_F(Limits, ABodyThatDripsIs408) {
  settings.min_body_bytes_per_second = 100'000;
  start();
  auto client = connect();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
  while (client.send("x") && count("body_rate") == 0) {
    ::poll(nullptr, 0, 5);
  }
  expect_refusal(client, 408, "body_rate");
}

TEST_F(Limits, AnIdleConnectionIsClosed) {
  settings.idle = milliseconds(50);
  start();
  auto client = connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(client.read_answer()), 200);
  EXPECT_TRUE(client.waits_for_end());
  EXPECT_EQ(count("idle"), 1U);
}

TEST_F(Limits, AWaitingAnswerIsNotIdle) {
  settings.idle = settings.head_deadline = settings.body_idle = settings.write_deadline = milliseconds(20);
  start();
  auto waiting = connect();
  waiting.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
  auto idle = connect();
  ASSERT_TRUE(idle.waits_for_end());
  auto later = connect();
  ASSERT_TRUE(later.waits_for_end());
  EXPECT_EQ(server->stats().requests_in_flight, 1U);
}

TEST_F(Limits, AClientThatDoesNotReadIsCutOff) {
  settings.write_deadline = milliseconds(50);
  settings.min_body_bytes_per_second = 1U << 30U;
  start();
  auto client = connect();
  client.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return count("write_deadline") == 1 && server->stats().connections == 0; }));
}

TEST_F(Limits, AConnectionTooManyGets503AtOnce) {
  settings.max_connections = 1;
  start();
  auto first = connect();
  first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_EQ(status_of(first.read_answer()), 200);
  auto second = connect();
  EXPECT_EQ(status_of(second.read_to_end()), 503);
  EXPECT_EQ(count("connections"), 1U);
  first.close();
  ASSERT_TRUE(eventually([&] { return server->stats().connections == 0; }));
  auto third = connect();
  third.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(third.read_answer()), 200);
}

// The limit on descriptors is the process's: a child, so that other tests keep theirs.
class DescriptorLimits : public Limits {
 protected:
  bool pauses_rests_and_serves_later() {
    start();
    // Sanitizers open a descriptor the first time they check a type: let them, while there are some.
    auto first = connect();
    first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    if (status_of(first.read_answer()) != 200) {
      return false;
    }
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    // Descriptors are given lowest first: the client takes the last one, the server finds none.
    const int next = ::dup(0);
    ::close(next);
    const rlimit one_more{.rlim_cur = static_cast<rlim_t>(next + 1), .rlim_max = before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &one_more);
    auto client = connect();
    const bool has_paused = eventually([&] { return count("file_descriptors") >= 2; });
    // One that spins would have counted thousands by its second pause.
    const bool has_rested = count("file_descriptors") < 50;
    ::setrlimit(RLIMIT_NOFILE, &before);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    return has_paused && has_rested && status_of(client.read_answer()) == 200;
  }
};

TEST_F(DescriptorLimits, WithoutDescriptorsAcceptingPausesAndGoesOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(pauses_rests_and_serves_later() ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace outrigger::http
