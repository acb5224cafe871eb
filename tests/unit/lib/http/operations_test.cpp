#include "lib/http/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outrigger::http {
namespace {

Response get(const Router& router, std::string_view path, std::string_view query = "", std::vector<HeaderView> headers = {}) {
  Response response;
  const auto match = router.match(Method::kGet, path);
  EXPECT_NE(match.loop, nullptr) << path;
  if (match.loop != nullptr) {
    (*match.loop)({.method = Method::kGet,
                   .target = {},
                   .path = path,
                   .query = query,
                   .headers = headers,
                   .body = {},
                   .path_parameters = {},
                   .peer_address = {}},
                  response);
  }
  return response;
}

TEST(Operations, ReadinessFailsWithTheReasonAndLivenessDoesNot) {
  telemetry::Registry registry;
  bool is_ready = false;
  const auto router = make_operations_router(
      registry, {.liveness = {},
                 .readiness = {{"journal", [] { return Result<void>(); }},
                               {"kafka", [&]() -> Result<void> { return is_ready ? Result<void>() : fail(ErrorCode::kUnavailable, "no broker"); }}}});
  const auto not_ready = get(router, "/readyz");
  EXPECT_EQ(not_ready.status, 503);
  EXPECT_EQ(not_ready.body, "[+]journal ok\n[-]kafka failed: no broker\nreadyz check failed\n");
  EXPECT_EQ(get(router, "/livez").status, 200);
  EXPECT_EQ(get(router, "/healthz").status, 200);
  is_ready = true;
  EXPECT_EQ(get(router, "/readyz").body, "ok");
  EXPECT_EQ(get(router, "/readyz", "verbose").body, "[+]journal ok\n[+]kafka ok\nreadyz check passed\n");
}

TEST(Operations, MetricsInTheFormatThatIsAskedFor) {
  telemetry::Registry registry;
  registry.counter({"test_total", "T."}).add();
  const auto router = make_operations_router(registry, {});
  const auto text = get(router, "/metrics");
  EXPECT_THAT(text.body, testing::HasSubstr("# TYPE test_total counter\ntest_total 1\n"));
  const std::vector<HeaderView> accept{{"Accept", "application/openmetrics-text; version=1.0.0"}};
  EXPECT_THAT(get(router, "/metrics", "", accept).body, testing::EndsWith("# EOF\n"));
}

}  // namespace
}  // namespace outrigger::http
