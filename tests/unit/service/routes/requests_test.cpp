#include "service/routes/internal/requests.h"

#include "tests/unit/service/routes/fixture.h"

namespace outrigger::routes::internal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const RequestContext kContext{.request_id = "r", .trace = {.trace_id = std::string(32, 'a'), .span_id = std::string(16, 'b')}};

TEST(OrderStart, MakesAStartOfTheOrderDefinition) {
  const auto start = order_start(make_request(kOrder), kContext);
  ASSERT_TRUE(start.has_value()) << start.error().body;
  EXPECT_EQ(start->definition, "order-fulfilment");
  EXPECT_EQ(start->idempotency_key, "k-1");
  EXPECT_EQ(start->business_key, "O-1");
  EXPECT_EQ(start->traceparent, kContext.trace.traceparent());
}

TEST(OrderStart, WhiteSpaceAndFieldOrderDoNotMakeItAnotherPayload) {
  const auto one = order_start(
      make_request(R"({"order_id":"O","customer_id":"C","country":"DE","lines":[{"sku":"P","quantity":1,"unit_price_cents":1}]})"), kContext);
  const auto other = order_start(
      make_request(
          "{ \"lines\": [ {\"unit_price_cents\":1,\"sku\":\"P\",\"quantity\":1} ],\n\"country\":\"DE\", \"order_id\":\"O\",\"customer_id\":\"C\" }"),
      kContext);
  EXPECT_EQ(one.value().input, other.value().input);
}

struct BadRequest {
  const char* name;
  http::Request request;
  int status;
  const char* says;
};

class BadOrderRequests : public ::testing::TestWithParam<BadRequest> {};

TEST_P(BadOrderRequests, GetAProblemThatSaysWhat) {
  const auto start = order_start(GetParam().request, kContext);
  ASSERT_FALSE(start.has_value());
  EXPECT_EQ(start.error().status, GetParam().status);
  EXPECT_EQ(header_of(start.error(), "Content-Type"), "application/problem+json");
  EXPECT_THAT(body_of(start.error()).at("title").get<std::string>() + body_of(start.error()).at("detail").get<std::string>(),
              HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Routes, BadOrderRequests,
    ::testing::Values(BadRequest{"NoKey", make_request(kOrder, "", {}), 400, "Idempotency-Key"},
                      BadRequest{"EmptyKey", make_request(kOrder, "", {{"Idempotency-Key", "\"\""}}), 400, "Idempotency-Key"},
                      BadRequest{"LongKey", make_request(kOrder, "", {{"Idempotency-Key", std::string(256, 'k')}}), 400, "1 to 255"},
                      BadRequest{"KeyWithSpace", make_request(kOrder, "", {{"Idempotency-Key", "a b"}}), 400, "visible ASCII"},
                      BadRequest{"NotJson", make_request("{"), 400, "not JSON"}, BadRequest{"Empty", make_request(""), 400, "not JSON"},
                      BadRequest{"NoObject", make_request("[1]"), 400, "is array, not a JSON object"},
                      BadRequest{"NotUtf8", make_request("{\"order_id\":\"\xff\"}"), 400, "not JSON"},
                      BadRequest{"MissingFields", make_request(R"({"order_id":"O-1"})"), 400, "/customer_id is missing; 2 more in errors"},
                      BadRequest{"Xml", make_request(kOrder, "", {{"Idempotency-Key", "k"}, {"Content-Type", "text/xml"}}), 415, "text/xml"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(OrderStart, ListsEveryWrongFieldByPointer) {
  const auto start = order_start(
      make_request(R"({"order_id":"O-1","customer_id":"C","country":"de","lines":[{"sku":"P","quantity":0,"unit_price_cents":1}]})"), kContext);
  const auto errors = body_of(start.error()).at("errors");
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0]["pointer"], "/country");
  EXPECT_EQ(errors[1]["pointer"], "/lines/0/quantity");
}

TEST(OrderStart, TakesJsonWithACharset) {
  EXPECT_TRUE(
      order_start(make_request(kOrder, "", {{"Idempotency-Key", "k"}, {"Content-Type", "Application/JSON; charset=utf-8"}}), kContext).has_value());
}

TEST(OrderStart, BoundsNestingButNotBracketsInTexts) {
  const auto nested = [](std::size_t levels) {
    return R"({"note":)" + std::string(levels, '[') + std::string(levels, ']') + "," + std::string(kOrder).substr(1);
  };
  EXPECT_TRUE(order_start(make_request(nested(60)), kContext).has_value());
  EXPECT_THAT(order_start(make_request(nested(64)), kContext).error().body, HasSubstr("nested deeper than 64"));
  EXPECT_TRUE(order_start(make_request(R"({"note":"\")" + std::string(100, '[') + "\"," + std::string(kOrder).substr(1)), kContext).has_value());
}

TEST(IdempotencyKey, IsTheSameWithAndWithoutQuotes) {
  EXPECT_EQ(idempotency_key(make_request("", "", {{"Idempotency-Key", "\"k-1\""}})).value(), "k-1");
  EXPECT_EQ(idempotency_key(make_request("", "", {{"idempotency-key", "k-1"}})).value(), "k-1");
}

TEST(SagaStart, TakesAnyObjectAndABusinessKey) {
  const auto start = saga_start(make_request(R"({"x":1})", "business_key=B-1"), kContext, "travel");
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->definition, "travel");
  EXPECT_EQ(start->business_key, "B-1");
  EXPECT_EQ(start->input, R"({"x":1})");
  EXPECT_EQ(saga_start(make_request("{}", "business_key=a%20b"), kContext, "travel").error().status, 400);
}

TEST(Wait, ReadsADurationAndRefusesWhatIsNoneOrTooLong) {
  EXPECT_FALSE(wait_of(make_request(""), 60s).value().has_value());
  EXPECT_EQ(wait_of(make_request("", "wait=1.5s"), 60s).value(), 1500ms);
  EXPECT_EQ(wait_of(make_request("", "wait=5"), 60s).error().status, 400);
  EXPECT_THAT(wait_of(make_request("", "wait=61s"), 60s).error().body, HasSubstr("longer than 1m"));
}

TEST(AfterVersion, IsAWholeNumber) {
  EXPECT_EQ(after_version(make_request("", "after_version=7")).value(), 7U);
  for (const auto* bad : {"after_version=-1", "after_version=x", "after_version=", "after_version=1.5"}) {
    EXPECT_FALSE(after_version(make_request("", bad)).has_value()) << bad;
  }
}

const WallTime kNow{std::chrono::seconds(1'800'000'000)};

TEST(ListQuery, ReadsAgesFromNow) {
  const auto query = list_query(make_request("", "older_than=10m&newer_than=1h30m"), 500, kNow);
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->created_before, kNow - 10min);
  EXPECT_EQ(query->created_since, kNow - 90min);
  EXPECT_FALSE(list_query(make_request(""), 500, kNow).value().created_before.has_value());
  EXPECT_EQ(list_query(make_request("", "older_than=10"), 500, kNow).error().status, 400);
  EXPECT_LT(list_query(make_request("", "newer_than=99999d"), 500, kNow).value().created_since, kNow) << "does not wrap round";
}

TEST(ListQuery, ReadsEveryFilterAndBoundsTheLimit) {
  const auto query = list_query(make_request("", "status=STUCK&definition=order-fulfilment&business_key=O-1&cursor=abc&limit=7"), 500, kNow);
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->status, saga::SagaStatus::kStuck);
  EXPECT_EQ(query->definition, "order-fulfilment");
  EXPECT_EQ(query->business_key, "O-1");
  EXPECT_EQ(query->cursor, "abc");
  EXPECT_EQ(query->limit, 7U);
  for (const auto* bad : {"status=stuk", "limit=0", "limit=501", "limit=x"}) {
    EXPECT_EQ(list_query(make_request("", bad), 500, kNow).error().status, 400) << bad;
  }
}

TEST(Action, ReadsIdVerbAndAudit) {
  const auto action = action_of(make_request(R"({"actor":"ana","reason":"undone by hand"})"), "p3-X:complete");
  ASSERT_TRUE(action.has_value());
  EXPECT_EQ(action->saga_id, "p3-X");
  EXPECT_EQ(action->action.operation, saga::Operation::kComplete);
  EXPECT_EQ(action->action.actor, "ana");
  EXPECT_EQ(action->action.reason, "undone by hand");
}

TEST(Action, WithoutABodyNamesThePeer) { EXPECT_THAT(action_of(make_request(""), "p3-X:retry").value().action.actor, HasSubstr("127.0.0.1:9")); }

TEST(Action, RefusesUnknownVerbsAndBadBodies) {
  EXPECT_EQ(action_of(make_request(""), "p3-X:explode").error().status, 404);
  EXPECT_EQ(action_of(make_request(R"({"actor":7})"), "p3-X:retry").error().status, 400);
  EXPECT_EQ(action_of(make_request("{"), "p3-X:retry").error().status, 400);
}

TEST(Context, KeepsTheClientsRequestIdAndTrace) {
  const auto context =
      context_of(make_request("", "", {{"X-Request-Id", "abc"}, {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}));
  EXPECT_EQ(context.request_id, "abc");
  EXPECT_EQ(context.trace.trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_NE(context.trace.span_id, "b7ad6b7169203331") << "a span of its own";
}

TEST(Context, MakesItsOwnForWhatIsMissingOrForged) {
  EXPECT_EQ(context_of(make_request("", "", {})).request_id.size(), 26U);
  EXPECT_EQ(context_of(make_request("", "", {{"X-Request-Id", "a b"}})).request_id.size(), 26U);
  EXPECT_EQ(context_of(make_request("", "", {{"X-Request-Id", std::string(129, 'x')}})).request_id.size(), 26U);
  EXPECT_EQ(context_of(make_request("", "", {{"traceparent", "nonsense"}})).trace.trace_id.size(), 32U);
}

}  // namespace
}  // namespace outrigger::routes::internal
