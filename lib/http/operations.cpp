#include "lib/http/operations.h"

#include <algorithm>
#include <chrono>
#include <format>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>

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

constexpr std::size_t kMaxListed = 1'000;

class Listing final {
 public:
  explicit Listing(Responder responder) : responder_(std::move(responder)) {}
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  ~Listing() {
    std::ranges::sort(requests_, std::ranges::greater(), &RequestInFlight::age);
    const bool is_truncated = requests_.size() >= kMaxListed;
    requests_.resize(std::min(requests_.size(), kMaxListed));
    // Every text is the program's own, or an address: nothing to escape.
    std::string list;
    for (const auto& request : requests_) {
      list += std::format(R"({}{{"listener":"{}","peer":"{}","method":"{}","route":"{}","stage":"{}","age_ms":{}}})", list.empty() ? "" : ",",
                          request.listener, request.peer, request.method, request.route, name(request.stage),
                          std::chrono::duration_cast<std::chrono::milliseconds>(request.age).count());
    }
    auto response = Response::json(200, std::format(R"({{"requests":[{}],"truncated":{}}})", list, is_truncated));
    response.headers.emplace_back("Cache-Control", "no-store");
    responder_.send(std::move(response));
  }

  void add(std::vector<RequestInFlight> requests) {
    const std::lock_guard lock(mutex_);
    requests_.insert(requests_.end(), std::make_move_iterator(requests.begin()), std::make_move_iterator(requests.end()));
  }

 private:
  Responder responder_;
  std::mutex mutex_;
  std::vector<RequestInFlight> requests_;
};

}  // namespace

Router make_operations_router(const telemetry::Registry& registry, HealthChecks checks, std::vector<const Server*> servers) {
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
  router.defer(Method::kGet, "/requests", [servers = std::move(servers)](const Request&, Responder responder) {
    // Answers when the last server has told what it serves.
    const auto listing = std::make_shared<Listing>(std::move(responder));
    for (const auto* server : servers) {
      server->list_requests(kMaxListed, [listing](std::vector<RequestInFlight> requests) { listing->add(std::move(requests)); });
    }
  });
  return router;
}

}  // namespace outrigger::http
