#include "lib/http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outrigger::http {
namespace {

class RouterTest : public testing::Test {
 protected:
  void route(Method method, std::string_view pattern) {
    router.handle(method, pattern, [](const RequestView&, Response&) {});
  }

  std::string matched(std::string_view path, Method method = Method::kGet) {
    const auto match = router.match(method, path);
    std::string result(match.pattern);
    for (const auto& [parameter, value] : match.parameters) {
      result += " " + std::string(parameter) + "=" + std::string(value);
    }
    return result;
  }

  Router router;
};

TEST_F(RouterTest, LiteralBeforeParameterBeforeRest) {
  route(Method::kGet, "/v1/orders/mine");
  route(Method::kGet, "/v1/orders/:id");
  route(Method::kGet, "/v1/*");
  EXPECT_EQ(matched("/v1/orders/mine"), "/v1/orders/mine");
  EXPECT_EQ(matched("/v1/orders/7"), "/v1/orders/:id id=7");
  EXPECT_EQ(matched("/v1/orders/7/lines"), "/v1/* *=orders/7/lines");
  EXPECT_EQ(matched("/v1/"), "/v1/* *=");
  EXPECT_EQ(matched("/v2"), "");
}

TEST_F(RouterTest, ListsItsRoutes) {
  route(Method::kGet, "/a/:x");
  route(Method::kPost, "/a/:x");
  route(Method::kGet, "/a/b");
  route(Method::kGet, "/*");
  using testing::Pair;
  EXPECT_THAT(router.routes(), testing::UnorderedElementsAre(Pair(Method::kGet, "/a/:x"), Pair(Method::kPost, "/a/:x"), Pair(Method::kGet, "/a/b"),
                                                             Pair(Method::kGet, "/*")));
}

TEST_F(RouterTest, GoesBackWhenALiteralLeadsNowhere) {
  route(Method::kGet, "/a/b/c");
  route(Method::kGet, "/a/:x/d");
  EXPECT_EQ(matched("/a/b/d"), "/a/:x/d x=b");
}

TEST_F(RouterTest, AParameterIsNeverEmpty) {
  route(Method::kGet, "/a/:x");
  EXPECT_EQ(matched("/a/"), "");
}

TEST_F(RouterTest, AnotherMethodOfTheSamePathIsAllowedNotMatched) {
  route(Method::kPost, "/a");
  route(Method::kGet, "/a");
  const auto match = router.match(Method::kDelete, "/a");
  EXPECT_EQ(match.loop, nullptr);
  EXPECT_THAT(match.allowed, testing::ElementsAre(Method::kGet, Method::kHead, Method::kPost));
}

TEST_F(RouterTest, HeadIsServedByGet) {
  route(Method::kGet, "/a");
  EXPECT_EQ(matched("/a", Method::kHead), "/a");
}

TEST_F(RouterTest, AMethodMayFallThroughToARestThatServesIt) {
  route(Method::kGet, "/a/b");
  route(Method::kPost, "/a/*");
  EXPECT_EQ(matched("/a/b", Method::kPost), "/a/* *=b");
}

TEST_F(RouterTest, UnmatchedTakesWhatNoRouteTakes) {
  route(Method::kGet, "/livez");
  router.defer_unmatched([](Request, Responder) {});
  EXPECT_NE(router.match(Method::kPost, "/livez").deferred, nullptr);
  EXPECT_NE(router.match(Method::kGet, "/any/thing").deferred, nullptr);
  EXPECT_NE(router.match(Method::kGet, "/livez").loop, nullptr);
}

TEST_F(RouterTest, TwoEqualRoutesEndTheProcess) {
  route(Method::kGet, "/a/:x");
  EXPECT_DEATH(route(Method::kGet, "/a/:x"), "two routes are the same");
}

}  // namespace
}  // namespace outrigger::http
