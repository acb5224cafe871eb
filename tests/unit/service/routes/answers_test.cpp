#include "service/routes/internal/answers.h"

#include "tests/unit/service/routes/fixture.h"

namespace outrigger::routes::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StartedAnswer, IsAcceptedWhileItRunsAndOkWhenItIsFinished) {
  auto saga = make_saga("p1-A", "O-1");
  auto answer = started_answer(saga, true);
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(header_of(answer, "Location"), "/v1/orders/p1-A");
  EXPECT_EQ(body_of(answer).at("order_id"), "O-1");
  EXPECT_EQ(body_of(answer).at("id"), "p1-A");
  EXPECT_EQ(body_of(answer).at("status"), "RUNNING");
  saga.status = saga::SagaStatus::kStuck;
  EXPECT_EQ(started_answer(saga, true).status, 202);
  saga.status = saga::SagaStatus::kCompensated;
  answer = started_answer(saga, false);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(header_of(answer, "Location"), "/v1/sagas/p1-A");
  EXPECT_FALSE(body_of(answer).contains("order_id"));
}

TEST(StartedAnswer, EscapesWhatClientsNamed) {
  EXPECT_EQ(body_of(started_answer(make_saga("p1-A", "a\"b\n\xff"), true)).at("order_id"), "a\"b\n\uFFFD");
}

TEST(ErrorAnswer, FollowsTheEnginesCodes) {
  const std::pair<ErrorCode, int> expected[] = {
      {ErrorCode::kInvalidArgument, 400},   {ErrorCode::kNotFound, 404},    {ErrorCode::kAlreadyExists, 422}, {ErrorCode::kFailedPrecondition, 409},
      {ErrorCode::kResourceExhausted, 503}, {ErrorCode::kUnavailable, 503}, {ErrorCode::kAborted, 503},       {ErrorCode::kDataLoss, 500},
      {ErrorCode::kInternal, 500}};
  for (const auto& [code, status] : expected) {
    const auto answer = error_answer({code, "why", "/var/lib/secret"});
    EXPECT_EQ(answer.status, status) << name(code);
    EXPECT_EQ(header_of(answer, "Retry-After").empty(), status != 503) << name(code);
    EXPECT_EQ(body_of(answer).at("status"), status);
    EXPECT_THAT(answer.body, Not(HasSubstr("secret"))) << "paths are for the log";
  }
}

TEST(ErrorAnswer, DoesNotTellInternalMessages) {
  EXPECT_THAT(error_answer({ErrorCode::kInternal, "checksum of block 7", ""}).body, Not(HasSubstr("block 7")));
}

TEST(ListAnswer, HoldsSagasAndTheCursor) {
  const auto page = list_answer(
      {.sagas = {std::make_shared<saga::SagaState>(make_saga("p1-A", "O-1")), std::make_shared<saga::SagaState>(make_saga("p1-B", "O-2"))},
       .next_cursor = "c\"1"});
  EXPECT_EQ(body_of(page).at("sagas").size(), 2U);
  EXPECT_EQ(body_of(page).at("next_cursor"), "c\"1");
  const auto empty = list_answer({.sagas = {}, .next_cursor = ""});
  EXPECT_TRUE(body_of(empty).at("sagas").empty());
  EXPECT_TRUE(body_of(empty).at("next_cursor").is_null());
}

TEST(Send, CarriesRequestIdAndTrace) {
  struct Sink final : http::Responder::Sink {
    void send(http::Response response) override { sent = std::move(response); }
    std::shared_ptr<http::ResponseStream::Sink> stream(http::Response) override { return nullptr; }
    void on_gone(std::function<void()>) override {}
    http::Response sent;
  };
  const auto sink = std::make_shared<Sink>();
  http::Responder responder(sink);
  const RequestContext context{.request_id = "abc", .trace = {.trace_id = std::string(32, 'a'), .span_id = std::string(16, 'b')}};
  send(responder, context, http::Response::json(200, "{}"));
  EXPECT_EQ(header_of(sink->sent, "X-Request-Id"), "abc");
  EXPECT_EQ(header_of(sink->sent, "traceparent"), context.trace.traceparent());
}

}  // namespace
}  // namespace outrigger::routes::internal
