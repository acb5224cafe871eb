#include "lib/http/operations.h"

#include <format>

#include "lib/telemetry/exposition.h"

namespace outrigger::http {
namespace {

void answer_checks(std::string_view endpoint, const std::vector<HealthCheck>& checks, const RequestView& request, Response& response) {
  std::string list;
  bool passed = true;
  for (const auto& [check_name, check] : checks) {
    if (const auto result = check()) {
      list += std::format("[+]{} ok\n", check_name);
    } else {
      passed = false;
      list += std::format("[-]{} failed: {}\n", check_name, result.error().to_string());
    }
  }
  response.status = passed ? 200 : 503;
  response.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  response.headers.emplace_back("Cache-Control", "no-store");
  if (!passed || request.query_parameter("verbose")) {
    response.body = std::format("{}{} check {}\n", list, endpoint, passed ? "passed" : "failed");
  } else {
    response.body = "ok";
  }
}

}  // namespace

Router make_operations_router(const telemetry::Registry& registry, HealthChecks checks) {
  Router router;
  const auto shared = std::make_shared<const HealthChecks>(std::move(checks));
  for (const std::string_view path : {"/livez", "/healthz"}) {
    router.handle(Method::kGet, path, [shared, endpoint = path.substr(1)](const RequestView& request, Response& response) {
      answer_checks(endpoint, shared->liveness, request, response);
    });
  }
  router.handle(Method::kGet, "/readyz",
                [shared](const RequestView& request, Response& response) { answer_checks("readyz", shared->readiness, request, response); });
  router.handle(Method::kGet, "/metrics", [&registry](const RequestView& request, Response& response) {
    const auto format = telemetry::negotiate(request.header("accept").value_or(""));
    response.headers.emplace_back("Content-Type", telemetry::content_type(format));
    response.body = telemetry::serialize(registry.Collect(), format);
  });
  return router;
}

}  // namespace outrigger::http
