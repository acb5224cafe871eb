#include "sidecar/gateway/headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outrigger::gateway {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::Pair;

constexpr std::string_view kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

http::Request request_with(Headers headers) {
  http::Request request;
  request.target = "/v1/orders?a=b";
  request.headers = std::move(headers);
  request.peer_address = "10.0.0.9:4711";
  return request;
}

TEST(HopByHop, RemovesWhatConnectionNamesAndTheKnownOnes) {
  Headers headers{{"Connection", "close, X-Mine ,"}, {"X-Mine", "1"},  {"Keep-Alive", "timeout=5"},   {"TE", "trailers"}, {"Upgrade", "x"},
                  {"Transfer-Encoding", "chunked"},  {"Trailer", "x"}, {"Proxy-Connection", "close"}, {"X-Yours", "2"}};
  remove_hop_by_hop(headers);
  EXPECT_THAT(headers, ElementsAre(Pair("X-Yours", "2")));
}

TEST(HopByHop, AClientCannotHaveHostRemoved) {
  Headers headers{{"Host", "a"}, {"Connection", "Host"}};
  remove_hop_by_hop(headers);
  EXPECT_THAT(headers, ElementsAre(Pair("Host", "a")));
}

TEST(ForUpstream, KeepsHostAndSaysWhoAsked) {
  const auto headers = headers_for_upstream(request_with({{"Host", "shop.example:80"}, {"Accept", "a/b"}}), "outrigger", kTrace, true);
  EXPECT_THAT(headers, ElementsAre(Pair("Host", "shop.example:80"), Pair("Accept", "a/b"), Pair("X-Forwarded-For", "10.0.0.9"),
                                   Pair("X-Forwarded-Proto", "http"), Pair("X-Forwarded-Host", "shop.example:80"), Pair("Via", "1.1 outrigger"),
                                   Pair("traceparent", std::string(kTrace))));
}

TEST(ForUpstream, AppendsToWhatEarlierProxiesSaid) {
  const auto headers = headers_for_upstream(
      request_with({{"Host", "a"}, {"x-forwarded-for", "1.1.1.1"}, {"X-Forwarded-Proto", "https"}, {"X-Forwarded-Host", "b"}, {"Via", "1.1 edge"}}),
      "outrigger", kTrace, true);
  EXPECT_THAT(headers, Contains(Pair("x-forwarded-for", "1.1.1.1, 10.0.0.9")));
  EXPECT_THAT(headers, Contains(Pair("X-Forwarded-Proto", "https")));
  EXPECT_THAT(headers, Contains(Pair("X-Forwarded-Host", "b")));
  EXPECT_THAT(headers, Contains(Pair("Via", "1.1 edge, 1.1 outrigger")));
}

TEST(ForUpstream, AClientCannotHaveForwardedForRemoved) {
  const auto headers = headers_for_upstream(request_with({{"Host", "a"}, {"Connection", "X-Forwarded-For"}, {"X-Forwarded-For", "6.6.6.6"}}),
                                            "outrigger", kTrace, true);
  EXPECT_THAT(headers, Contains(Pair("X-Forwarded-For", "10.0.0.9")));
}

TEST(ForUpstream, WritesIpv6PeersWithoutBrackets) {
  auto request = request_with({{"Host", "a"}});
  request.peer_address = "[::1]:4711";
  EXPECT_THAT(headers_for_upstream(request, "outrigger", kTrace, true), Contains(Pair("X-Forwarded-For", "::1")));
}

TEST(ForUpstream, DropsLengthExpectationAndAForeignTraceState) {
  const auto headers = headers_for_upstream(
      request_with({{"Host", "a"}, {"Content-Length", "3"}, {"Expect", "100-continue"}, {"traceparent", "broken"}, {"tracestate", "a=b"}}),
      "outrigger", kTrace, false);
  EXPECT_THAT(headers, Not(Contains(Pair("Content-Length", testing::_))));
  EXPECT_THAT(headers, Not(Contains(Pair("Expect", testing::_))));
  EXPECT_THAT(headers, Not(Contains(Pair("tracestate", testing::_))));
  EXPECT_THAT(headers, Not(Contains(Pair("traceparent", "broken"))));
}

TEST(ForUpstream, AnAbsoluteTargetReplacesHost) {
  auto request = request_with({{"Host", "a"}});
  request.target = "http://b:81/x?y";
  EXPECT_THAT(headers_for_upstream(request, "outrigger", kTrace, true), Contains(Pair("Host", "b:81")));
}

TEST(Target, BecomesOriginForm) {
  EXPECT_EQ(target_for_upstream("/a%20b?c=http://d").origin_form, "/a%20b?c=http://d");
  EXPECT_EQ(target_for_upstream("http://b:81/x?y").origin_form, "/x?y");
  EXPECT_EQ(target_for_upstream("http://b?y").origin_form, "/?y");
  EXPECT_EQ(target_for_upstream("http://b").origin_form, "/");
  EXPECT_EQ(target_for_upstream("*").origin_form, "*");
}

}  // namespace
}  // namespace outrigger::gateway
