#include "lib/http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace outrigger::http {
namespace {

TEST(PercentDecode, DecodesOnceAndRefusesWhatIsBroken) {
  EXPECT_EQ(percent_decode("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(percent_decode("%2541"), "%41");
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  for (const auto* broken : {"%", "%2", "%zz", "%00"}) {
    EXPECT_FALSE(percent_decode(broken)) << broken;
  }
}

TEST(QueryParameter, FirstOfTheNameDecoded) {
  Request request;
  request.query = "a=1&wait=5s&a=2&flag&b+c=x%26y";
  EXPECT_EQ(request.query_parameter("a"), "1");
  EXPECT_EQ(request.query_parameter("flag"), "");
  EXPECT_EQ(request.query_parameter("b c"), "x&y");
  EXPECT_FALSE(request.query_parameter("none"));
}

TEST(Header, NamesCompareWithoutCase) {
  Request request;
  request.headers = {{"Idempotency-Key", "k"}};
  EXPECT_EQ(request.header("idempotency-key"), "k");
  EXPECT_FALSE(request.header("idempotency"));
}

TEST(Problem, IsJsonWhateverTheDetail) {
  const auto response = Response::problem(400, "Bad \"Request\"", "line\nbreak \\ and \x01");
  const auto body = nlohmann::json::parse(response.body);
  EXPECT_EQ(body["status"], 400);
  EXPECT_EQ(body["title"], "Bad \"Request\"");
  EXPECT_EQ(body["detail"], "line\nbreak \\ and \x01");
}

}  // namespace
}  // namespace outrigger::http
