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

/// Hands an answer's body on as it comes: the client's pace is the application's, and when one of them goes, the other is let go too.
class BodyPassage final {
 public:
  BodyPassage(http::ResponseStream stream, http::AnswerFlow flow) : stream_(std::move(stream)), flow_(std::move(flow)) {
    stream_.on_gone([flow = flow_] { flow.cancel(); });
  }

  bool more(std::string bytes) {
    switch (stream_.write(std::move(bytes))) {
      case http::ResponseStream::Write::kRoom: return true;
      case http::ResponseStream::Write::kFull: stream_.on_room([flow = flow_] { flow.resume(); }); return false;
      case http::ResponseStream::Write::kEnded: flow_.cancel(); return true;
    }
    impossible("ResponseStream::Write");
  }
  void finish() { stream_.finish(); }

 private:
  http::ResponseStream stream_;
  http::AnswerFlow flow_;
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

  void pass_on(const std::shared_ptr<Passage>& passage);

  static bool is_passable(const http::Response& response) { return response.status >= 200 && response.status <= 599; }

  [[nodiscard]] http::Response passed_back(http::Response response, const fault::Decision& decision) const {
    if (!is_passable(response)) {
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
    count(passage, response.status);
    passage.responder.send(std::move(response));
  }

  /// Up to the head of the answer: how long its body takes, reader and application decide.
  void count(const Passage& passage, int status) {
    const bool is_injected = !passage.decision.is_none();
    registry.counter(metrics::kRequests, {{"code", std::to_string(status)}, {"fault", is_injected ? passage.decision.faults : "none"}}).add();
    (is_injected ? injected_duration : duration).observe(std::chrono::steady_clock::now() - passage.received);
  }

  void fail(Passage& passage, const Error& error) {
    telemetry::log(telemetry::LogLevel::kWarning, "the application did not answer",
                   {{"trace_id", passage.trace_id}, {"error", error.to_string()}, {"fault", passage.decision.faults}});
    auto response = problem_for(error);
    mark(response, passage.decision);
    answer(passage, std::move(response));
  }

  class Reader;
};

class Proxy::State::Reader final : public http::AnswerReader {
 public:
  Reader(std::shared_ptr<State> proxy, std::shared_ptr<Passage> passage) : proxy_(std::move(proxy)), passage_(std::move(passage)) {}

  void answered(Result<http::Response> answer) override {
    if (answer) {
      proxy_->answer(*passage_, proxy_->passed_back(*std::move(answer), passage_->decision));
    } else {
      proxy_->fail(*passage_, answer.error());
    }
  }

  void began(http::Response head, std::optional<std::uint64_t> body_length, http::AnswerFlow flow) override {
    if (!is_passable(head)) {
      flow.cancel();
      proxy_->fail(*passage_, {.code = ErrorCode::kDataLoss, .message = "a status that does not exist", .context = {}});
      return;
    }
    auto response = proxy_->passed_back(std::move(head), passage_->decision);
    response.content_length = body_length;
    proxy_->count(*passage_, response.status);
    body_.emplace(passage_->responder.stream(std::move(response)), std::move(flow));
  }

  bool more(std::string bytes) override { return !body_ || body_->more(std::move(bytes)); }

  void ended(Result<void> result) override {
    if (!body_) {
      return;
    }
    if (result) {
      body_->finish();
    } else {
      telemetry::log(telemetry::LogLevel::kWarning, "the application broke off its answer: the client's connection is cut",
                     {{"trace_id", passage_->trace_id}, {"error", result.error().to_string()}, {"fault", passage_->decision.faults}});
    }
    body_.reset();
  }

 private:
  const std::shared_ptr<State> proxy_;
  const std::shared_ptr<Passage> passage_;
  std::optional<BodyPassage> body_;
};

void Proxy::State::pass_on(const std::shared_ptr<Passage>& passage) {
  if (passage->decision.abort_status) {
    answer(*passage, fault::abort_response(passage->decision));
    return;
  }
  upstream.read(std::move(passage->request), std::make_shared<Reader>(shared_from_this(), passage));
}

Proxy::Proxy(ProxySettings settings, http::Upstream& upstream, FaultPoint faults, telemetry::Registry& registry)
    : state_(std::make_shared<State>(std::move(settings), upstream, std::move(faults), registry)) {}

Proxy::~Proxy() = default;

void Proxy::add_to(http::Router& router) {
  router.defer_unmatched(
      [state = state_](http::Request request, http::Responder responder) { state->receive(std::move(request), std::move(responder)); });
}

}  // namespace outrigger::gateway
