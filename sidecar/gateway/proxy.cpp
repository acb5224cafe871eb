#include "sidecar/gateway/proxy.h"

#include <algorithm>
#include <format>

#include "lib/telemetry/log.h"
#include "lib/telemetry/trace_context.h"
#include "sidecar/gateway/headers.h"
#include "sidecar/gateway/metrics.h"

namespace outrigger::gateway {
namespace {

http::Response problem_for(const Error& error) {
  const auto answer = [](int status, std::string_view detail) { return http::Response::problem(status, http::reason_phrase(status), detail); };
  switch (error.code) {
    case ErrorCode::kDeadlineExceeded: return answer(504, "the application did not answer in time; the request may have been served");
    case ErrorCode::kUnavailable:
    case ErrorCode::kResourceExhausted: {
      auto response = answer(503, error.code == ErrorCode::kUnavailable ? "the application cannot be reached; the request was not sent"
                                                                        : "too many requests wait for the application; this one was not sent");
      response.headers.emplace_back("Retry-After", "1");
      return response;
    }
    case ErrorCode::kInvalidArgument: return answer(400, "the request cannot be passed on as HTTP/1.1");
    case ErrorCode::kAborted: return answer(502, "the connection to the application broke; the request may have been served");
    default: return answer(502, "the application's answer is not HTTP/1.1, or larger than the proxy passes on");
  }
}

/// One request on its way through the proxy.
struct Passage {
  http::UpstreamRequest request;
  http::Responder responder;
  fault::Decision decision;
  std::string trace_id;
  MonotonicTime received;
};

}  // namespace

struct Proxy::State : std::enable_shared_from_this<State> {
  ProxySettings settings;
  http::Upstream& upstream;
  FaultPoint faults;
  telemetry::Registry& registry;
  telemetry::Histogram& duration;
  telemetry::Histogram& injected_duration;

  State(ProxySettings proxy_settings, http::Upstream& to, FaultPoint point, telemetry::Registry& metrics_registry)
      : settings(std::move(proxy_settings)),
        upstream(to),
        faults(std::move(point)),
        registry(metrics_registry),
        duration(registry.histogram(metrics::kDuration, telemetry::kLatencySeconds, {{"injected", "false"}})),
        injected_duration(registry.histogram(metrics::kDuration, telemetry::kLatencySeconds, {{"injected", "true"}})) {}

  void receive(http::Request request, http::Responder responder) {
    const auto received = std::chrono::steady_clock::now();
    const auto parent = telemetry::parse_traceparent(request.header("traceparent").value_or(""));
    const auto trace = parent ? parent->child() : telemetry::new_trace();
    auto passage =
        std::make_shared<Passage>(Passage{.request = {.method = request.method,
                                                      .target = target_for_upstream(request.target).origin_form,
                                                      .headers = headers_for_upstream(request, settings.via, trace.traceparent(), parent.has_value()),
                                                      .body = {},
                                                      .deadline = received + settings.deadline},
                                          .responder = std::move(responder),
                                          .decision = faults ? faults(request) : fault::Decision{},
                                          .trace_id = trace.trace_id,
                                          .received = received});
    passage->request.body = std::move(request.body);
    if (!passage->decision.delay) {
      pass_on(passage);
      return;
    }
    const auto delay = std::min<std::chrono::nanoseconds>(*passage->decision.delay, settings.deadline);
    upstream.run_after(delay, [self = shared_from_this(), passage] { self->pass_on(passage); });
  }

  void pass_on(const std::shared_ptr<Passage>& passage) {
    if (passage->decision.abort_status) {
      answer(*passage, fault::abort_response(passage->decision));
      return;
    }
    upstream.send(std::move(passage->request), [self = shared_from_this(), passage](Result<http::Response> result) {
      if (result) {
        self->answer(*passage, self->passed_back(std::move(*result), passage->decision));
        return;
      }
      telemetry::log(telemetry::LogLevel::kWarning, "the application did not answer",
                     {{"trace_id", passage->trace_id}, {"error", result.error().to_string()}, {"fault", passage->decision.faults}});
      auto response = problem_for(result.error());
      mark(response, passage->decision);
      self->answer(*passage, std::move(response));
    });
  }

  [[nodiscard]] http::Response passed_back(http::Response response, const fault::Decision& decision) const {
    if (response.status < 200 || response.status > 599) {
      return problem_for({.code = ErrorCode::kDataLoss, .message = {}, .context = {}});
    }
    remove_hop_by_hop(response.headers);
    response.headers.emplace_back("Via", std::format("1.1 {}", settings.via));
    mark(response, decision);
    return response;
  }

  static void mark(http::Response& response, const fault::Decision& decision) {
    if (!decision.is_none()) {
      response.headers.emplace_back("outrigger-fault", decision.faults);
    }
  }

  void answer(Passage& passage, http::Response response) {
    const bool is_injected = !passage.decision.is_none();
    registry.counter(metrics::kRequests, {{"code", std::to_string(response.status)}, {"fault", is_injected ? passage.decision.faults : "none"}})
        .add();
    (is_injected ? injected_duration : duration).observe(std::chrono::steady_clock::now() - passage.received);
    passage.responder.send(std::move(response));
  }
};

Proxy::Proxy(ProxySettings settings, http::Upstream& upstream, FaultPoint faults, telemetry::Registry& registry)
    : state_(std::make_shared<State>(std::move(settings), upstream, std::move(faults), registry)) {}

Proxy::~Proxy() = default;

void Proxy::add_to(http::Router& router) {
  router.defer_unmatched(
      [state = state_](http::Request request, http::Responder responder) { state->receive(std::move(request), std::move(responder)); });
}

}  // namespace outrigger::gateway
