#include "lib/http/upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "lib/http/internal/response_parser.h"
#include "lib/http/metrics.h"
#include "lib/http/server.h"
#include "tests/unit/lib/http/socket_client.h"
#include "tests/unit/lib/http/socket_server.h"

namespace outrigger::http {
namespace {

using std::chrono::milliseconds;

class UpstreamTest : public testing::Test {
 protected:
  void start(std::uint16_t port) {
    settings.port = port;
    upstream.emplace(settings, registry);
    ASSERT_TRUE(upstream->start());
  }

  std::future<Result<Response>> send(Method method, std::string target, std::string body = {}, milliseconds time = milliseconds(5'000)) {
    std::promise<Result<Response>> promise;
    auto future = promise.get_future();
    upstream->send({.method = method,
                    .target = std::move(target),
                    .headers = {{"Host", "a"}},
                    .body = std::move(body),
                    .deadline = std::chrono::steady_clock::now() + time},
                   [promise = std::move(promise)](Result<Response> result) mutable { promise.set_value(std::move(result)); });
    return future;
  }

  std::uint64_t count(const std::string& result) {
    return registry.counter(metrics::kUpstreamRequests, {{"upstream", "app"}, {"result", result}}).value();
  }

  double connections() { return registry.gauge(metrics::kUpstreamConnections, {{"upstream", "app"}}).value(); }

  telemetry::Registry registry;
  UpstreamSettings settings;
  std::optional<Upstream> upstream;
};

// Against our own server: both ends at once.
class UpstreamToServer : public UpstreamTest {
 protected:
  UpstreamToServer() {
    Router router;
    router.handle(Method::kGet, "/hello", [](const RequestView&, Response& response) { response.body = "hello"; });
    router.handle(Method::kPost, "/echo", [](const RequestView& request, Response& response) { response.body = request.body; });
    router.defer(Method::kGet, "/never", [this](Request, Responder responder) {
      const std::lock_guard lock(mutex);
      kept.push_back(std::move(responder));
    });
    server.emplace(ServerSettings{.name = "test", .loops = 1}, std::move(router), registry);
    EXPECT_TRUE(server->start());
  }

  bool eventually_kept(std::size_t requests) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return kept.size() == requests;
    });
  }

  std::mutex mutex;
  std::vector<Responder> kept;
  std::optional<Server> server;
};

TEST_F(UpstreamToServer, AnswersAndKeepsTheConnection) {
  start(server->port());
  for (int i = 0; i < 10; ++i) {
    const auto result = send(Method::kGet, "/hello").get();
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(result->body, "hello");
  }
  EXPECT_EQ(server->stats().connections, 1U);
  EXPECT_EQ(count("answered"), 10U);
}

TEST_F(UpstreamToServer, SendsABigBody) {
  start(server->port());
  const std::string body(3U << 20U, 'x');
  const auto result = send(Method::kPost, "/echo", body).get();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->body, body);
}

TEST_F(UpstreamToServer, HeadHasTheLengthButNoBody) {
  start(server->port());
  const auto result = send(Method::kHead, "/hello").get();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->body, "");
  EXPECT_EQ(result->content_length, 5U);
  EXPECT_EQ(send(Method::kGet, "/hello").get()->body, "hello");
}

TEST_F(UpstreamToServer, TheDeadlineEndsTheRequest) {
  start(server->port());
  const auto result = send(Method::kGet, "/never", "", milliseconds(50)).get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(count("deadline"), 1U);
  EXPECT_TRUE(eventually([&] { return connections() == 0; }));
}

TEST_F(UpstreamToServer, QueuesUpToItsBoundAndRefusesTheRest) {
  settings.max_connections = 1;
  settings.max_waiting = 1;
  start(server->port());
  auto first = send(Method::kGet, "/never");
  ASSERT_TRUE(eventually_kept(1));
  auto second = send(Method::kGet, "/hello");
  const auto third = send(Method::kGet, "/hello").get();
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kResourceExhausted);
  kept[0].send(Response::text(200, "at last"));
  EXPECT_EQ(first.get()->body, "at last");
  EXPECT_EQ(second.get()->body, "hello");
}

TEST_F(UpstreamToServer, AWaitingRequestHasItsDeadlineToo) {
  settings.max_connections = 1;
  start(server->port());
  auto first = send(Method::kGet, "/never");
  ASSERT_TRUE(eventually_kept(1));
  const auto second = send(Method::kGet, "/hello", "", milliseconds(20)).get();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kDeadlineExceeded);
}

TEST_F(UpstreamToServer, ManyAtOnceAreAllAnswered) {
  settings.max_connections = 8;
  settings.loops = 2;
  start(server->port());
  std::vector<std::future<Result<Response>>> futures;
  for (int i = 0; i < 300; ++i) {
    futures.push_back(send(Method::kPost, "/echo", std::to_string(i)));
  }
  for (int i = 0; i < 300; ++i) {
    const auto result = futures[static_cast<std::size_t>(i)].get();
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(result->body, std::to_string(i));
  }
  EXPECT_LE(server->stats().connections, 8U);
}

TEST_F(UpstreamToServer, EndsWhatIsUnderWayWhenItStops) {
  start(server->port());
  auto result = send(Method::kGet, "/never");
  ASSERT_TRUE(eventually_kept(1));
  upstream.reset();
  EXPECT_EQ(result.get().error().code, ErrorCode::kUnavailable);
}

TEST_F(UpstreamToServer, RunsATaskAfterADelay) {
  start(server->port());
  std::promise<void> ran;
  upstream->run_after(milliseconds(10), [&] { ran.set_value(); });
  EXPECT_EQ(ran.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

TEST_F(UpstreamTest, NobodyListeningIsUnavailable) {
  std::uint16_t port = 0;
  {
    const SocketServer gone;
    port = gone.port();
  }
  start(port);
  const auto result = send(Method::kGet, "/").get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
}

TEST_F(UpstreamTest, AKeptConnectionThatDiedIsReplacedWithoutTheCallerKnowing) {
  SocketServer server;
  start(server.port());
  auto first = send(Method::kPost, "/", "1");
  auto connection = server.accept();
  connection.read_request();
  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(first.get());
  connection.close();
  auto second = send(Method::kPost, "/", "2");
  auto next = server.accept();
  EXPECT_THAT(next.read_request(), testing::EndsWith("\r\n\r\n2"));
  next.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(second.get());
}

TEST_F(UpstreamTest, WhatWasSentIsNeverSentAgain) {
  SocketServer server;
  start(server.port());
  auto result = send(Method::kPost, "/", "once");
  auto connection = server.accept();
  connection.read_request();
  connection.close();
  const auto answer = result.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kAborted);
  EXPECT_EQ(count("broken"), 1U);
}

TEST_F(UpstreamTest, ABodyThatTheEndOfTheConnectionEndsIsRead) {
  SocketServer server;
  start(server.port());
  auto result = send(Method::kGet, "/");
  auto connection = server.accept();
  connection.read_request();
  connection.send("HTTP/1.1 200 OK\r\n\r\nto the end");
  connection.close();
  EXPECT_EQ(result.get()->body, "to the end");
}

TEST_F(UpstreamTest, AnInterimAnswerIsNotTheAnswer) {
  SocketServer server;
  start(server.port());
  auto result = send(Method::kGet, "/");
  auto connection = server.accept();
  connection.read_request();
  connection.send(
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nTrailer: "
      "t\r\n\r\n");
  const auto answer = result.get();
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(answer->body, "ok");
  EXPECT_THAT(answer->headers, testing::ElementsAre(testing::Pair("X", "y"), testing::Pair("Transfer-Encoding", "chunked")));
}

TEST_F(UpstreamTest, BytesBehindAnAnswerEndTheConnection) {
  SocketServer server;
  start(server.port());
  auto result = send(Method::kGet, "/");
  auto connection = server.accept();
  connection.read_request();
  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong");
  EXPECT_EQ(result.get()->body, "ok");
  EXPECT_TRUE(eventually([&] { return connections() == 0; }));
}

TEST_F(UpstreamTest, ARequestThatWouldSplitIsNotSent) {
  start(1);
  const auto result = send(Method::kGet, "/ HTTP/1.1\r\nX: y").get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
}

/// Remembers what it was told; has room for so many pieces.
struct RecordingReader final : AnswerReader {
  explicit RecordingReader(int room_for = 1'000'000) : room(room_for) {}

  void answered(Result<Response> result) override {
    const std::lock_guard lock(mutex);
    whole = std::move(result);
  }
  void began(Response response, std::optional<std::uint64_t> body_length, AnswerFlow answer_flow) override {
    const std::lock_guard lock(mutex);
    head = std::move(response);
    length = body_length;
    flow = std::move(answer_flow);
    body = head->body;
  }
  bool more(std::string bytes) override {
    const std::lock_guard lock(mutex);
    body += bytes;
    ++pieces;
    return --room > 0;
  }
  void ended(Result<void> result) override {
    const std::lock_guard lock(mutex);
    end = std::move(result);
  }

  /// Whether it holds within some seconds.
  bool sees(const std::function<bool(const RecordingReader&)>& condition) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return condition(*this);
    });
  }
  AnswerFlow flow_now() {
    const std::lock_guard lock(mutex);
    room = 1'000'000;
    return flow;
  }

  std::mutex mutex;
  int room;
  int pieces = 0;
  std::optional<Result<Response>> whole;
  std::optional<Response> head;
  std::optional<std::uint64_t> length;
  AnswerFlow flow;
  std::string body;
  std::optional<Result<void>> end;
};

class AnswerInPieces : public UpstreamTest {
 protected:
  void ask(milliseconds time = milliseconds(5'000)) {
    start(server.port());
    upstream->read(
        {.method = Method::kGet, .target = "/", .headers = {{"Host", "a"}}, .body = {}, .deadline = std::chrono::steady_clock::now() + time}, reader);
    connection.emplace(server.accept());
    connection->read_request();
  }

  SocketServer server;
  std::optional<SocketServer::Connection> connection;
  std::shared_ptr<RecordingReader> reader = std::make_shared<RecordingReader>();
};

TEST_F(AnswerInPieces, IsHandedOnAsItComes) {
  ask();
  connection->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.head && told.body == "one"; }));
  EXPECT_EQ(reader->length, std::nullopt);
  connection->send("3\r\ntwo\r\n");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.body == "onetwo"; }));
  EXPECT_FALSE(reader->end);
  connection->send("0\r\n\r\n");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.end.has_value(); }));
  EXPECT_TRUE(reader->end->has_value());
  EXPECT_FALSE(reader->whole);
  EXPECT_EQ(connections(), 1) << "the connection is kept";
  EXPECT_EQ(count("answered"), 1U);
}

TEST_F(AnswerInPieces, ThatComesWholeIsAnsweredAtOnce) {
  ask();
  connection->send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.whole.has_value(); }));
  EXPECT_EQ((*reader->whole)->body, "ok");
  EXPECT_FALSE(reader->head || reader->end);
}

TEST_F(AnswerInPieces, MayBeLongerThanWhatIsHeldWhole) {
  settings.max_body_bytes = 1'000;
  ask();
  connection->send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.head.has_value(); }));
  EXPECT_EQ(reader->length, 300'000U);
  connection->send(std::string(300'000, 'x'));
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.end.has_value(); }));
  EXPECT_TRUE(reader->end->has_value());
  EXPECT_EQ(reader->body, std::string(300'000, 'x'));
}

TEST_F(AnswerInPieces, AReaderWithoutRoomIsNotGivenMore) {
  reader = std::make_shared<RecordingReader>(1);
  settings.stall = milliseconds(200);  // which does not count while the reader has no room
  ask();
  connection->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.head.has_value(); }));
  connection->send("1\r\nb\r\n");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.pieces == 1; }));
  connection->send("1\r\nc\r\n0\r\n\r\n");
  // Another exchange on the same loop passes meanwhile: had the loop read on, the piece would be here.
  std::promise<void> later;
  upstream->run_after(milliseconds(400), [&] { later.set_value(); });
  later.get_future().wait();
  EXPECT_TRUE(reader->sees([](const auto& told) { return told.body == "ab" && !told.end; }));
  reader->flow_now().resume();
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.end.has_value(); }));
  EXPECT_TRUE(reader->end->has_value());
  EXPECT_EQ(reader->body, "abc");
}

TEST_F(AnswerInPieces, ThatBreaksOffEndsWithAnError) {
  ask();
  connection->send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.body == "half"; }));
  connection->close();
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.end.has_value(); }));
  EXPECT_EQ(reader->end->error().code, ErrorCode::kAborted);
  EXPECT_EQ(count("broken"), 1U);
}

TEST_F(AnswerInPieces, ThatStallsEndsThoughItsRequestsDeadlineNoLongerCounts) {
  settings.stall = milliseconds(300);
  ask(milliseconds(250));
  connection->send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.end.has_value(); }));
  EXPECT_EQ(reader->end->error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(reader->end->error().message, testing::HasSubstr("the rest"));
}

TEST_F(AnswerInPieces, ACancelledOneClosesTheConnectionAndIsHeardOfNoMore) {
  ask();
  connection->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.head.has_value(); }));
  reader->flow_now().cancel();
  reader->flow_now().cancel();
  EXPECT_EQ(connection->read_request(), "") << "the end of the connection";
  EXPECT_TRUE(eventually([&] { return connections() == 0 && count("cancelled") == 1; }));
  reader->flow_now().resume();
  upstream.reset();
  EXPECT_FALSE(reader->end);
}

TEST_F(AnswerInPieces, EndsWhenTheClientStopsAndSteeringItThenDoesNothing) {
  ask();
  connection->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  ASSERT_TRUE(reader->sees([](const auto& told) { return told.head.has_value(); }));
  upstream.reset();
  ASSERT_TRUE(reader->end.has_value());
  EXPECT_EQ(reader->end->error().code, ErrorCode::kUnavailable);
  reader->flow_now().resume();
  reader->flow_now().cancel();
}

struct BadAnswer {
  const char* name;
  std::string bytes;
};

class ResponseFraming : public testing::TestWithParam<BadAnswer> {};

TEST_P(ResponseFraming, IsRefused) {
  internal::ResponseParser parser({.max_head_bytes = 1'000, .max_header_fields = 10, .max_body_bytes = 100}, false);
  auto event = internal::ResponseParser::Event::kNeedMore;
  for (const char& c : GetParam().bytes) {
    const std::string piece(1, c);
    event = parser.feed(piece);
    if (event != internal::ResponseParser::Event::kNeedMore) {
      break;
    }
  }
  EXPECT_EQ(event, internal::ResponseParser::Event::kBad);
}

INSTANTIATE_TEST_SUITE_P(
    , ResponseFraming,
    testing::Values(BadAnswer{"NotHttp", "SSH-2.0-OpenSSH\r\n"}, BadAnswer{"Http2", "HTTP/2.0 200 OK\r\n\r\n"},
                    BadAnswer{"LengthAndEncoding", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
                    BadAnswer{"OtherEncoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"},
                    BadAnswer{"TwoLengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"},
                    BadAnswer{"ObsFold", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"},
                    BadAnswer{"BodyTooLong", "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n"},
                    BadAnswer{"ChunksTooLong", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x')},
                    BadAnswer{"BodyTooLongWithoutLength", "HTTP/1.1 200 OK\r\n\r\n" + std::string(101, 'x')},
                    BadAnswer{"EndlessHead", "HTTP/1.1 200 OK\r\nX: " + std::string(1'001, 'x')},
                    BadAnswer{"TooManyFields", "HTTP/1.1 200 OK\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n"},
                    BadAnswer{"SwitchingProtocols", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace outrigger::http
