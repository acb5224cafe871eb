// Answers whose body is sent while it is made: framing, back-pressure, order, and what a client sees when it ends too early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "lib/http/metrics.h"
#include "lib/http/server.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http {
namespace {

using Write = ResponseStream::Write;

const std::string kGet = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n";

class Stream : public testing::Test {
 protected:
  Stream() {
    settings.name = "test";
    settings.loops = 1;
    router.handle(Method::kGet, "/hello", [](const RequestView&, Response& response) { response.body = "hello"; });
    router.defer(Method::kGet, "/stream", [this](Request, Responder responder) { promise.set_value(std::move(responder)); });
  }

  void start() {
    server.emplace(settings, std::move(router), registry);
    const auto started = server->start();
    ASSERT_TRUE(started) << started.error().to_string();
  }

  SocketClient connect() { return SocketClient(server->port()); }

  /// The responder of the request that was sent, on the test's own thread.
  Responder responder() { return promise.get_future().get(); }
  ResponseStream begin(Response head = Response::text(200, "")) { return responder().stream(std::move(head)); }

  /// Writes pieces until the server says that they are enough; returns what was written.
  std::size_t fill(ResponseStream& stream, std::size_t piece_bytes = 16U << 10U) {
    std::size_t written = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < deadline) {
      written += piece_bytes;
      if (stream.write(std::string(piece_bytes, 'x')) == Write::kFull) {
        if (!eventually_has_room(stream)) {
          return written;
        }
      }
    }
    ADD_FAILURE() << "a client that does not read took everything";
    return written;
  }

  static bool eventually_has_room(const ResponseStream& stream) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (!stream.has_room()) {
      if (std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      ::poll(nullptr, 0, 1);
    }
    return true;
  }

  telemetry::Registry registry;
  ServerSettings settings;
  Router router;
  std::promise<Responder> promise;
  std::optional<Server> server;
};

TEST_F(Stream, SendsTheHeadAtOnceAndThenEveryPiece) {
  start();
  auto client = connect();
  client.send(kGet);
  auto stream = begin();
  const auto head = client.read_answer(false);
  EXPECT_EQ(status_of(head), 200);
  EXPECT_THAT(*head, testing::HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_THAT(*head, testing::Not(testing::HasSubstr("Content-Length")));
  EXPECT_EQ(stream.write("one"), Write::kRoom);
  EXPECT_EQ(client.read_bytes(8), "3\r\none\r\n");
  EXPECT_EQ(stream.write("fifteen letters"), Write::kRoom);
  EXPECT_EQ(client.read_bytes(20), "f\r\nfifteen letters\r\n");
  stream.finish();
  EXPECT_EQ(client.read_bytes(5), "0\r\n\r\n");
}

TEST_F(Stream, TheConnectionServesTheNextRequestAfterIt) {
  start();
  auto client = connect();
  client.send(kGet);
  auto stream = begin(Response::text(200, "beginning"));
  stream.finish();
  client.read_answer(false);
  EXPECT_EQ(client.read_bytes(19), "9\r\nbeginning\r\n0\r\n\r\n");
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()), "hello");
  EXPECT_EQ(server->stats().requests_in_flight, 0U);
}

TEST_F(Stream, AnswersBehindItWaitForItsEnd) {
  start();
  auto client = connect();
  client.send(kGet + "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  auto stream = begin();
  client.read_answer(false);
  stream.write("a");
  EXPECT_EQ(client.read_bytes(6), "1\r\na\r\n");
  stream.write("b");
  stream.finish();
  const auto rest = client.read_to_end();
  ASSERT_TRUE(rest);
  EXPECT_THAT(*rest, testing::StartsWith("1\r\nb\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(*rest, testing::EndsWith("hello"));
}

TEST_F(Stream, AnHttp10ClientGetsItUntilTheConnectionCloses) {
  start();
  auto client = connect();
  client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  auto stream = begin();
  stream.write("one");
  stream.write("two");
  stream.finish();
  const auto answer = client.read_to_end();
  EXPECT_EQ(body_of(answer), "onetwo");
  EXPECT_THAT(answer.value_or(""), testing::HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer.value_or(""), testing::Not(testing::HasSubstr("Transfer-Encoding")));
}

TEST_F(Stream, AKnownLengthIsSentAsSuch) {
  start();
  auto client = connect();
  client.send(kGet);
  auto head = Response::text(200, "");
  head.content_length = 6;
  auto stream = begin(std::move(head));
  stream.write("one");
  stream.write("two");
  stream.finish();
  const auto answer = client.read_answer();
  EXPECT_EQ(body_of(answer), "onetwo");
  EXPECT_THAT(answer.value_or(""), testing::Not(testing::HasSubstr("Transfer-Encoding")));
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()), "hello");
}

TEST_F(Stream, ABodyShorterThanItsLengthEndsTheConnection) {
  start();
  auto client = connect();
  client.send(kGet);
  auto head = Response::text(200, "");
  head.content_length = 6;
  auto stream = begin(std::move(head));
  stream.write("one");
  stream.finish();
  EXPECT_EQ(body_of(client.read_to_end()), "one");
}

TEST_F(Stream, ABodyLongerThanItsLengthNeverReachesTheNextAnswer) {
  start();
  auto client = connect();
  client.send(kGet);
  auto head = Response::text(200, "");
  head.content_length = 3;
  auto stream = begin(std::move(head));
  stream.write("oneHTTP/1.1 200 OK\r\n");
  EXPECT_EQ(body_of(client.read_to_end()), "one");
  EXPECT_TRUE(eventually([&] { return stream.write("more") == Write::kEnded; }));
}

TEST_F(Stream, HeadGetsTheHeadAndTheWriterLearnsThatNobodyReads) {
  start();
  auto client = connect();
  client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  std::atomic<bool> gone = false;
  auto stream = begin();
  stream.on_gone([&] { gone = true; });
  EXPECT_THAT(client.read_answer(false).value_or(""), testing::HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_TRUE(eventually([&] { return stream.write("unseen") == Write::kEnded && gone.load(); }));
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()), "hello");
}

TEST_F(Stream, DestroyedUnfinishedItEndsWithoutTheLastChunk) {
  start();
  auto client = connect();
  client.send(kGet + "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  {
    auto stream = begin();
    stream.write("part");
  }
  const auto answer = client.read_to_end();
  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, testing::Not(testing::HasSubstr("0\r\n\r\n")));
  EXPECT_THAT(*answer, testing::Not(testing::HasSubstr("hello")));
  EXPECT_EQ(registry.counter(metrics::kStreamsCut, {{"listener", "test"}}).value(), 1U);
  EXPECT_TRUE(eventually([&] { return server->stats().connections == 0 && server->stats().requests_in_flight == 0; }));
}

TEST_F(Stream, DestroyedUnfinishedItResetsAnHttp10Client) {
  start();
  auto client = connect();
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  auto stream = begin();
  stream.write("part");
  ASSERT_THAT(client.read_answer(false), testing::Ne(std::nullopt));
  ASSERT_EQ(client.read_bytes(4), "part");
  stream = ResponseStream();
  EXPECT_TRUE(client.waits_for_reset());
}

TEST_F(Stream, AWriterIsHeldWhileTheClientDoesNotReadAndGoesOnWhenItDoes) {
  start();
  auto client = connect();
  client.send(kGet);
  auto stream = begin();
  client.read_answer(false);
  const auto held = fill(stream);
  std::atomic<bool> has_room = false;
  stream.on_room([&] { has_room = true; });
  EXPECT_FALSE(stream.has_room());
  std::size_t read = 0;
  while (!has_room.load()) {
    const auto bytes = client.read_bytes(64U << 10U);
    ASSERT_FALSE(bytes.empty());
    read += bytes.size();
    ASSERT_LE(read, held * 2);
  }
  EXPECT_EQ(stream.write("last"), Write::kRoom);
  stream.finish();
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_to_end().value_or(""), testing::HasSubstr("last\r\n0\r\n\r\nHTTP/1.1 200 OK"));
}

TEST_F(Stream, AWriterThatDoesNotWaitIsCutOffAndCounted) {
  settings.stream_buffer_bytes = 1'000;
  start();
  auto client = connect();
  client.send(kGet);
  auto stream = begin();
  // The loop takes what it can in between, so it is full for good only when the client's window is.
  ASSERT_TRUE(eventually([&] { return stream.write(std::string(100'000, 'x')) == Write::kEnded; }));
  EXPECT_TRUE(eventually([&] { return registry.counter(metrics::kLimitReached, {{"listener", "test"}, {"limit", "stream_buffer"}}).value() == 1; }));
  EXPECT_THAT(client.read_to_end().value_or(""), testing::Not(testing::HasSubstr("0\r\n\r\n")));
}

TEST_F(Stream, AClientThatDoesNotReadIsCutOffByTheWriteDeadline) {
  settings.write_deadline = std::chrono::milliseconds(50);
  start();
  auto client = connect();
  client.send(kGet);
  auto stream = begin();
  std::atomic<bool> gone = false;
  stream.on_gone([&] { gone = true; });
  ASSERT_TRUE(eventually([&] {
    while (stream.has_room()) {
      stream.write(std::string(16U << 10U, 'x'));
    }
    return gone.load();
  }));
  EXPECT_EQ(stream.write("late"), Write::kEnded);
  EXPECT_EQ(registry.counter(metrics::kLimitReached, {{"listener", "test"}, {"limit", "write_deadline"}}).value(), 1U);
}

TEST_F(Stream, ASilentStreamIsNotIdle) {
  settings.idle = settings.write_deadline = settings.head_deadline = std::chrono::milliseconds(20);
  start();
  auto client = connect();
  client.send(kGet);
  auto stream = begin();
  client.read_answer(false);
  auto idle = connect();
  ASSERT_TRUE(idle.waits_for_end());
  auto later = connect();
  ASSERT_TRUE(later.waits_for_end());
  stream.write("event");
  EXPECT_EQ(client.read_bytes(10), "5\r\nevent\r\n");
}

TEST_F(Stream, TellsTheWriterThatTheClientHasGone) {
  start();
  std::atomic<bool> gone = false;
  ResponseStream stream;
  {
    auto client = connect();
    client.send(kGet);
    stream = begin();
    stream.on_gone([&] { gone = true; });
    client.read_answer(false);
    client.reset();
  }
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
  EXPECT_TRUE(eventually([&] { return stream.write("late") == Write::kEnded; }));
  EXPECT_FALSE(stream.has_room());
}

TEST_F(Stream, OnGoneOfTheResponderStaysInForce) {
  start();
  std::atomic<bool> gone = false;
  ResponseStream stream;
  {
    auto client = connect();
    client.send(kGet);
    auto taken = responder();
    taken.on_gone([&] { gone = true; });
    stream = taken.stream(Response::text(200, ""));
    client.read_answer(false);
  }
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
}

TEST_F(Stream, AHeadThatCannotBeSentIs500) {
  start();
  auto client = connect();
  client.send(kGet);
  auto head = Response::text(200, "");
  head.headers.emplace_back("X", "a\r\nSet-Cookie: z");
  auto stream = begin(std::move(head));
  EXPECT_EQ(status_of(client.read_answer()), 500);
  EXPECT_TRUE(eventually([&] { return stream.write("x") == Write::kEnded; }));
}

TEST_F(Stream, DrainWaitsForItAndThenCloses) {
  start();
  auto client = connect();
  client.send(kGet);
  auto stream = begin();
  client.read_answer(false);
  auto drained = std::async(std::launch::async, [&] { return server->drain(std::chrono::steady_clock::now() + std::chrono::seconds(10)); });
  ASSERT_TRUE(eventually([&] { return !connect().is_connected(); }));
  stream.write("end");
  stream.finish();
  EXPECT_EQ(client.read_to_end(), "3\r\nend\r\n0\r\n\r\n");
  EXPECT_EQ(drained.get(), 0U);
}

TEST_F(Stream, DrainCutsItAtTheDeadlineAndTheWriterLearnsIt) {
  start();
  auto client = connect();
  client.send(kGet);
  auto stream = begin();
  client.read_answer(false);
  EXPECT_EQ(server->drain(std::chrono::steady_clock::now()), 1U);
  EXPECT_TRUE(client.waits_for_end());
  EXPECT_EQ(stream.write("late"), Write::kEnded);
}

TEST_F(Stream, ManyWritersFromTheirOwnThreadsArriveWhole) {
  std::vector<std::jthread> writers;
  router.defer(Method::kGet, "/count", [&](Request, Responder responder) {
    writers.emplace_back([responder = std::move(responder)]() mutable {
      auto stream = responder.stream(Response::text(200, ""));
      for (int i = 0; i < 2'000; ++i) {
        while (!stream.has_room()) {
          std::this_thread::yield();
        }
        stream.write(std::string(100, static_cast<char>('a' + i % 26)));
      }
      stream.finish();
    });
  });
  start();
  std::vector<SocketClient> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(connect());
    clients.back().send("GET /count HTTP/1.0\r\n\r\n");
  }
  for (auto& client : clients) {
    const auto body = body_of(client.read_to_end());
    ASSERT_EQ(body.size(), 200'000U);
    for (std::size_t i = 0; i < body.size(); ++i) {
      ASSERT_EQ(body[i], static_cast<char>('a' + (i / 100) % 26)) << i;
    }
  }
}

}  // namespace
}  // namespace outrigger::http
