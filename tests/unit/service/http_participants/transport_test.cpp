#include <chrono>
#include <thread>

#include "tests/unit/service/http_participants/fixture.h"

namespace outrigger::http_participants {
namespace {

using namespace std::chrono_literals;
using participant::Direction;
using participant::Outcome;
using testing::HasSubstr;
using testing::Not;

std::string body_of(const std::string& request) { return request.substr(request.find("\r\n\r\n") + 4); }
std::string field(const std::string& request, const std::string& name) {
  const auto at = request.find("\r\n" + name + ": ");
  const auto begin = at + name.size() + 4;
  return at == std::string::npos ? "" : request.substr(begin, request.find("\r\n", begin) - begin);
}

TEST_F(TransportTest, ACommandIsPostedWithAllThatAParticipantNeeds) {
  answered_with(http_answer("200 OK", "", ""));
  EXPECT_THAT(request_, testing::StartsWith("POST /reserve HTTP/1.1\r\n"));
  EXPECT_EQ(field(request_, "Host"), name());
  EXPECT_EQ(field(request_, "Idempotency-Key"), "p1-a/reserve/do");
  EXPECT_EQ(field(request_, "Saga-Attempt"), "1");
  EXPECT_EQ(field(request_, "Content-Type"), "application/json");
  const auto left = std::stol(field(request_, "Saga-Deadline-Ms"));
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 10'000);
  EXPECT_THAT(field(request_, "traceparent"), testing::StartsWith("00-0af7651916cd43dd8448eb211c80319c-"));
  EXPECT_THAT(field(request_, "traceparent"), Not(HasSubstr("b7ad6b7169203331"))) << "a span of its own";
  EXPECT_EQ(body_of(request_), R"({"saga_id":"p1-a","step":"reserve","direction":"do","command":"Reserve","input":{"n":1},"outputs":{}})");
}

TEST_F(TransportTest, ARepeatedCommandHasTheSameKeyAndBody) {
  auto repeated = command();
  std::vector<std::string> requests;
  for (repeated.attempt = 1; repeated.attempt <= 2; ++repeated.attempt) {
    EXPECT_TRUE(transport().offer(repeated));
    auto connection = server_.accept();
    requests.push_back(connection.read_request());
    connection.send(http_answer("500 Internal Server Error", "Connection: close\r\n", ""));
    EXPECT_EQ(replies_.wait_for(repeated.attempt).back().attempt, repeated.attempt);
  }
  EXPECT_EQ(field(requests[1], "Saga-Attempt"), "2");
  EXPECT_EQ(field(requests[0], "Idempotency-Key"), field(requests[1], "Idempotency-Key"));
  EXPECT_EQ(body_of(requests[0]), body_of(requests[1]));
}

TEST_F(TransportTest, AnUndoHasAKeyOfItsOwn) {
  auto undo = command();
  undo.direction = Direction::kUndo;
  EXPECT_TRUE(transport().offer(undo));
  auto connection = server_.accept();
  const auto request = connection.read_request();
  EXPECT_EQ(field(request, "Idempotency-Key"), "p1-a/reserve/undo");
  EXPECT_THAT(body_of(request), HasSubstr(R"("direction":"undo")"));
}

TEST_F(TransportTest, ConnectionsAreKept) {
  EXPECT_TRUE(transport().offer(command("p1-a")));
  auto connection = server_.accept();
  for (const auto* saga : {"p1-b", "p1-c"}) {
    connection.read_request();
    connection.send(http_answer("200 OK", "", ""));
    replies_.wait_for(++count_);
    EXPECT_TRUE(transport().offer(command(saga)));
  }
  EXPECT_EQ(field(connection.read_request(), "Idempotency-Key"), "p1-c/reserve/do");
}

class Polling : public TransportTest {
 protected:
  Polling() { settings_.poll_interval = 1ms; }

  Connection accepted(std::chrono::milliseconds timeout = 10s) {
    EXPECT_TRUE(transport().offer(command("p1-a", timeout)));
    auto connection = server_.accept();
    connection.read_request();
    connection.send(http_answer("202 Accepted", "Location: /jobs/7?x=1\r\n", "{}"));
    EXPECT_EQ(replies_.wait_for(1).at(0).outcome, Outcome::kInProgress);
    return connection;
  }
};

TEST_F(Polling, AnAcceptedCommandIsAskedAfterUntilItIsDone) {
  auto connection = accepted();
  EXPECT_EQ(gauge(metrics::kInProgress), 1);
  const auto first = connection.read_request();
  EXPECT_THAT(first, testing::StartsWith("GET /jobs/7?x=1 HTTP/1.1\r\n"));
  EXPECT_EQ(field(first, "Idempotency-Key"), "p1-a/reserve/do");
  connection.send(http_answer("202 Accepted", "Location: /jobs/8\r\nRetry-After: 0\r\n", ""));
  EXPECT_THAT(connection.read_request(), testing::StartsWith("GET /jobs/8 HTTP/1.1\r\n"));
  connection.send(http_answer("503 Service Unavailable", "Retry-After: 0\r\n", ""));
  EXPECT_THAT(connection.read_request(), testing::StartsWith("GET /jobs/8 HTTP/1.1\r\n"));
  connection.send(http_answer("200 OK", "", R"({"done":true})"));
  const auto replies = replies_.wait_for(2);
  EXPECT_EQ(replies[1].outcome, Outcome::kSuccess) << "in progress is said once";
  EXPECT_EQ(replies[1].output, R"({"done":true})");
  eventually([&] { return gauge(metrics::kInProgress) == 0; }, "nothing is in progress");
}

TEST_F(Polling, WhatTheJobEndsWithIsTheAnswer) {
  auto connection = accepted();
  connection.read_request();
  connection.send(http_answer("409 Conflict", "Content-Type: application/problem+json\r\n", R"({"detail":"no ship"})"));
  const auto reply = replies_.wait_for(2).at(1);
  EXPECT_EQ(reply.outcome, Outcome::kFailed);
  EXPECT_EQ(reply.reason, "no ship");
}

TEST_F(Polling, AJobThatIsGoneIsUnknown) {
  auto connection = accepted();
  connection.read_request();
  connection.send(http_answer("404 Not Found", "", ""));
  const auto reply = replies_.wait_for(2).at(1);
  EXPECT_EQ(reply.outcome, Outcome::kRetry);
  EXPECT_THAT(reply.reason, HasSubstr("outcome unknown"));
}

TEST_F(Polling, EndsWithTheStepsTimeout) {
  auto connection = accepted(200ms);
  while (gauge(metrics::kInProgress) > 0) {
    if (connection.read_request().empty()) {
      break;
    }
    connection.send(http_answer("202 Accepted", "Location: /jobs/7\r\nRetry-After: 0\r\n", ""));
  }
  eventually([&] { return gauge(metrics::kInProgress) == 0; }, "it was given up");
}

TEST_F(Polling, HasItsBound) {
  settings_.max_in_progress = 1;
  auto connection = accepted();
  EXPECT_TRUE(transport().offer(command("p1-b")));
  auto second = server_.accept();
  // Either connection may carry it, since a poll takes the one that is free.
  auto answer = [&](Connection& on) {
    const auto request = on.read_request();
    on.send(http_answer("202 Accepted", "Location: /jobs/9\r\nRetry-After: 100\r\n", ""));
    return request;
  };
  answer(connection);
  answer(second);
  const auto reply = replies_.wait_for(2).at(1);
  EXPECT_EQ(reply.saga_id, "p1-b");
  EXPECT_EQ(reply.outcome, Outcome::kRetry);
  EXPECT_THAT(reply.reason, HasSubstr("too many commands are asked after"));
}

TEST_F(TransportTest, AFullQueueIsAnAnswerAndRoomIsUsedAgain) {
  settings_.concurrency = 1;
  settings_.queue_capacity = 2;
  EXPECT_TRUE(transport().offer(command("p1-0")));
  auto connection = server_.accept();
  connection.read_request();
  EXPECT_TRUE(transport().offer(command("p1-1")));
  EXPECT_TRUE(transport().offer(command("p1-2")));
  EXPECT_FALSE(transport().offer(command("p1-3")));
  EXPECT_EQ(registry_.counter(metrics::kQueueFull, {{"participant", name()}}).value(), 1U);
  EXPECT_EQ(gauge(metrics::kInFlight), 1);
  for (int i = 0; i < 3; ++i) {
    connection.send(http_answer("200 OK", "", ""));
    replies_.wait_for(static_cast<std::size_t>(i) + 1);
    if (i < 2) {
      EXPECT_EQ(field(connection.read_request(), "Idempotency-Key"), std::format("p1-{}/reserve/do", i + 1));
    }
  }
  EXPECT_TRUE(transport().offer(command("p1-3")));
}

TEST_F(TransportTest, WhatWaitedTooLongIsNotSent) {
  settings_.concurrency = 1;
  EXPECT_TRUE(transport().offer(command("p1-0")));
  auto connection = server_.accept();
  connection.read_request();
  EXPECT_TRUE(transport().offer(command("p1-late", 0ms)));
  EXPECT_TRUE(transport().offer(command("p1-next")));
  connection.send(http_answer("200 OK", "", ""));
  EXPECT_EQ(field(connection.read_request(), "Idempotency-Key"), "p1-next/reserve/do");
  EXPECT_EQ(commands("expired"), 1U);
}

TEST_F(TransportTest, ABrokenParticipantIsLeftAloneAndFoundAgain) {
  settings_.circuit = {.failures_to_open = 2, .open_for = 1h, .max_open_for = 1h};
  answered_with(http_answer("500 Internal Server Error", "", ""));
  answered_with("nonsense\r\n\r\n");
  eventually([&] { return gauge(metrics::kCircuitState) == 2; }, "it is open");
  EXPECT_TRUE(transport().offer(command("p1-held")));
  const auto held = replies_.wait_for(3).at(2);
  EXPECT_EQ(held.outcome, Outcome::kRetry);
  EXPECT_THAT(held.reason, HasSubstr("circuit breaker is open"));
  ASSERT_TRUE(held.retry_after);
  EXPECT_GT(*held.retry_after, 59min);
  EXPECT_EQ(commands("circuit_open"), 1U);

  settings_.circuit.open_for = 1ms;
  settings_.circuit.max_open_for = 1ms;
  stop();
  transport_.reset();
  count_ = 3;
  answered_with(http_answer("500 Internal Server Error", "", ""));
  answered_with(http_answer("500 Internal Server Error", "", ""));
  std::this_thread::sleep_for(2ms);  // the probe may be sent after a millisecond; not before is what the breaker's own tests show
  EXPECT_EQ(answered_with(http_answer("409 Conflict", "Content-Type: application/problem+json\r\n", "{}")).outcome, Outcome::kFailed);
  eventually([&] { return gauge(metrics::kCircuitState) == 0; }, "a refusal is an answer: it is closed");
}

TEST_F(TransportTest, RepliesThatFindNoRoomAreBroughtAgain) {
  Replies crowded(3);
  HttpTransport transport(settings_, registry_);
  transport.start(crowded);
  EXPECT_TRUE(transport.offer(command()));
  auto connection = server_.accept();
  connection.read_request();
  connection.send(http_answer("200 OK", "", "1"));
  EXPECT_EQ(crowded.wait_for(1).at(0).output, "1");
  transport.stop();
}

TEST_F(TransportTest, StoppingCutsOffWhatIsUnderWay) {
  settings_.concurrency = 1;
  EXPECT_TRUE(transport().offer(command("p1-a")));
  auto connection = server_.accept();
  connection.read_request();
  EXPECT_TRUE(transport().offer(command("p1-b")));
  stop();
  EXPECT_FALSE(transport().offer(command("p1-c")));
  EXPECT_EQ(connection.read_request(), "") << "the connection is closed and nothing else comes";
}

TEST_F(TransportTest, OnlyAllowedHostsAreCalled) {
  settings_.allowed_hosts = {"inventory", "127.0.0.1:1"};
  EXPECT_TRUE(transport().check("http://Inventory:9000/x"));
  EXPECT_TRUE(transport().check("http://127.0.0.1:1/x"));
  EXPECT_EQ(transport().check("http://127.0.0.1:2/x").error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(transport().check("http://inventory.evil/x").error().code, ErrorCode::kPermissionDenied);
  EXPECT_TRUE(transport().offer(command())) << "of a definition from before: taken and refused, so that it holds nobody up";
  const auto reply = replies_.wait_for(1).at(0);
  EXPECT_EQ(reply.outcome, Outcome::kRetry);
  EXPECT_THAT(reply.reason, HasSubstr("not among the hosts"));
}

TEST_F(TransportTest, ParticipantsHaveTheirBound) {
  settings_.max_participants = 1;
  answered_with(http_answer("200 OK", "", ""));
  const http::SocketServer other;
  auto beyond = command();
  beyond.destination = std::format("http://127.0.0.1:{}/", other.port());
  EXPECT_TRUE(transport().offer(beyond));
  EXPECT_THAT(replies_.wait_for(2).at(1).reason, HasSubstr("raise --http-participants"));
}

TEST_F(TransportTest, AHostMayHaveAName) {
  auto named = command();
  named.destination = std::format("http://localhost:{}/reserve", server_.port());
  EXPECT_TRUE(transport().offer(named));
  auto connection = server_.accept();
  EXPECT_EQ(field(connection.read_request(), "Host"), std::format("localhost:{}", server_.port()));
  connection.send(http_answer("200 OK", "", ""));
  EXPECT_EQ(replies_.wait_for(1).at(0).outcome, Outcome::kSuccess);
}

}  // namespace
}  // namespace outrigger::http_participants
