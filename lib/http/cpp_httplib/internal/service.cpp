#include "lib/http/cpp_httplib/internal/service.h"

#include <algorithm>

#include "lib/http/cpp_httplib/metrics.h"
#include "lib/http/metrics.h"
#include "lib/runtime/cpu.h"
#include "lib/telemetry/log.h"

namespace outrigger::http::cpp_httplib::internal {
namespace {

constexpr std::string_view kNoRoute = "none";
constexpr int kUnset = -1;  // httplib::Response::status before a handler sets it

std::size_t thread_count(const Settings& settings) {
  return settings.handler_threads != 0 ? settings.handler_threads : std::max(8U, available_cpus() - 1);
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "not a std::exception";
  }
}

// The engine cuts a client off that takes an answer too slowly; this is a little more than it grants a full buffer.
std::chrono::milliseconds room_deadline(const ServerSettings& settings) {
  const auto per_second = std::max<std::size_t>(settings.min_body_bytes_per_second, 1);
  return settings.write_deadline + std::chrono::seconds(settings.stream_buffer_bytes / per_second + 1);
}

}  // namespace

/// One request under way. On the heap: `request.matches` points into `request.path`.
struct Service::Exchange {
  Exchange(Request request_taken, Responder responder_taken) : incoming(std::move(request_taken)), responder(std::move(responder_taken)) {}

  Request incoming;
  Responder responder;
  httplib::Request request;
  httplib::Response response;
  std::string_view pattern = kNoRoute;
  bool is_rangeable = false;
  ContentSpan span;
};

Service::Service(const Handlers& handlers, const Settings& settings, std::string address, telemetry::Registry& registry)
    : handlers_(handlers),
      settings_(settings),
      body_limits_{.max_decoded_bytes = settings.server.max_body_bytes,
                   .max_form_bytes = settings.max_form_bytes,
                   .multipart = {settings.max_multipart_parts, settings.max_multipart_part_head_bytes}},
      local_{std::move(address), 0},
      registry_(registry),
      providers_(std::make_unique<Pool>("providers", WorkerPool::Settings{settings.provider_threads, settings.provider_queue}, settings.server.name,
                                        registry)),
      pool_(
          std::make_unique<Pool>("handlers", WorkerPool::Settings{thread_count(settings), settings.handler_queue}, settings.server.name, registry)) {}

Service::~Service() { close(); }

void Service::close() {
  end_streams();
  pool_.reset();  // first: its tasks hand work to the providers
  providers_.reset();
}

void Service::take(Request request, Responder responder) {
  const auto exchange = std::make_shared<Exchange>(std::move(request), std::move(responder));
  const auto is_gone = std::make_shared<std::atomic<bool>>(false);
  exchange->request.is_connection_closed = [is_gone] { return is_gone->load(); };
  exchange->responder.on_gone([is_gone] { is_gone->store(true); });
  if (!is_open_.load()) {
    const std::scoped_lock lock(mutex_);
    if (!is_open_.load()) {
      if (held_.size() < settings_.handler_queue) {
        held_.push_back(exchange);
      } else {
        answer_busy(*exchange, "the server does not listen yet");
      }
      return;
    }
  }
  enqueue(exchange);
}

void Service::open(int port) {
  std::vector<std::shared_ptr<Exchange>> held;
  {
    const std::scoped_lock lock(mutex_);
    local_.port = port;
    add_duration(kNoRoute);
    handlers_.routes.visit([this](const Route& route) { add_duration(route.pattern); });
    is_open_.store(true);
    held.swap(held_);
  }
  std::ranges::for_each(held, [this](const auto& exchange) { enqueue(exchange); });
}

void Service::add_duration(std::string_view pattern) {
  durations_.emplace(pattern, &registry_.histogram(metrics::kHandlerDuration, telemetry::kLatencySeconds,
                                                   {{"listener", settings_.server.name}, {"route", std::string(pattern)}}));
}

void Service::enqueue(const std::shared_ptr<Exchange>& exchange) {
  if (!pool_->submit([this, exchange] { serve(exchange); })) {
    answer_busy(*exchange, "all handlers are busy and the queue is full");
  }
}

void Service::answer_busy(Exchange& exchange, std::string_view why) const {
  auto response = Response::problem(503, reason_phrase(503), why);
  response.headers.emplace_back("Retry-After", std::to_string(settings_.retry_after.count()));
  exchange.responder.send(std::move(response));
}

void Service::limit_reached(std::string_view limit) {
  registry_.counter(http::metrics::kLimitReached, {{"listener", settings_.server.name}, {"limit", std::string(limit)}}).add();
}

void Service::serve(const std::shared_ptr<Exchange>& exchange) {
  const auto began = std::chrono::steady_clock::now();
  try {
    fill_head(exchange->request, exchange->incoming, local_);
    exchange->response.version = exchange->request.version;
    exchange->response.headers = handlers_.default_headers;
    route(*exchange);
    finish(*exchange);
  } catch (...) {
    fail(*exchange, std::current_exception());
  }
  durations_.at(exchange->pattern)->observe(std::chrono::steady_clock::now() - began);
  send(exchange);
}

void Service::route(Exchange& exchange) {
  auto& request = exchange.request;
  auto& response = exchange.response;
  if (request.method == "GET" && request.has_header("Range")) {
    auto ranges = parse_ranges(request.get_header_value("Range"));
    if (!ranges) {
      response.status = 416;
      return;
    }
    request.ranges = std::move(*ranges);
  }
  try {
    if (!handlers_.pre_routing || handlers_.pre_routing(request, response) != httplib::Server::HandlerResponse::Handled) {
      const auto* found = handlers_.routes.find(exchange.incoming.method, request);
      if (found == nullptr) {
        response.status = response.status == kUnset ? 404 : response.status;
        return;
      }
      exchange.pattern = found->pattern;
      call_handler(exchange, *found);
    }
  } catch (...) {
    handler_threw(exchange, std::current_exception());
  }
  open_file_content(response);
  if (response.status == kUnset) {
    response.status = 200;
    exchange.is_rangeable = true;
  }
}

void Service::call_handler(Exchange& exchange, const Route& route) {
  auto& request = exchange.request;
  auto& response = exchange.response;
  auto body = decode_body(std::move(exchange.incoming.body), request, body_limits_.max_decoded_bytes);
  if (!body) {
    refuse_body(exchange, body.error());
  } else if (route.reader) {
    route.reader(request, response,
                 make_content_reader(request, response, *body, body_limits_, [this](std::string_view limit) { limit_reached(limit); }));
  } else if (const auto filled = fill_body(request, std::move(*body), body_limits_); filled) {
    route.handler(request, response);
  } else {
    refuse_body(exchange, filled.error());
  }
}

void Service::refuse_body(Exchange& exchange, const BodyFault& fault) {
  if (!fault.limit.empty()) {
    limit_reached(fault.limit);
  }
  exchange.response.status = fault.status;
}

void Service::handler_threw(Exchange& exchange, const std::exception_ptr& error) {
  if (!handlers_.exception) {
    fail(exchange, error);
    return;
  }
  handlers_.exception(exchange.request, exchange.response, error);
}

// The client learns that it failed and nothing else: the text may hold what is not its business.
void Service::fail(Exchange& exchange, const std::exception_ptr& error) {
  registry_.counter(http::metrics::kHandlerErrors, {{"listener", settings_.server.name}}).add();
  telemetry::log(telemetry::LogLevel::kError, "a handler threw", {{"route", std::string(exchange.pattern)}, {"error", text_of(error)}});
  // Into a temporary, whose end releases what a content provider held.
  [[maybe_unused]] const auto dropped = std::exchange(exchange.response, {});
  exchange.response.status = 500;
  exchange.response.headers = handlers_.default_headers;
  exchange.span = {0, 0};
}

void Service::finish(Exchange& exchange) {
  auto& request = exchange.request;
  auto& response = exchange.response;
  exchange.span = apply_range(request, response, exchange.is_rangeable);
  if (response.status >= 400 && handlers_.error) {
    handlers_.error(request, response);
    exchange.span = apply_range(request, response, false);
  }
  if (request.method == "HEAD" && !response.has_header("Accept-Ranges")) {
    response.set_header("Accept-Ranges", "bytes");
  }
  if (handlers_.post_routing) {
    handlers_.post_routing(request, response);
  }
}

void Service::send(const std::shared_ptr<Exchange>& exchange) {
  auto& response = exchange->response;
  auto head = make_head(response);
  if (is_provided(response)) {
    send_provided(exchange, std::move(head));
    return;
  }
  const auto& span = exchange->span;
  const bool is_part = span.length && (span.offset > 0 || *span.length < response.body.size()) && response.status == 206;
  if (is_part) {
    head.body = response.body.substr(span.offset, *span.length);
  } else if (handlers_.logger) {
    head.body = response.body;
  } else {
    head.body = std::move(response.body);
  }
  exchange->responder.send(std::move(head));
  log(*exchange);
}

void Service::send_provided(const std::shared_ptr<Exchange>& exchange, Response head) {
  head.content_length = exchange->span.length;
  if (exchange->request.method == "HEAD") {
    if (head.content_length) {
      exchange->responder.send(std::move(head));
    } else {
      exchange->responder.stream(std::move(head)).finish();
    }
    log(*exchange);
    return;
  }
  const auto shared_head = std::make_shared<Response>(std::move(head));
  const bool taken = providers_->submit([this, exchange, shared_head] {
    const ContentStreamLimits limits{room_deadline(settings_.server), [this] { return is_stopping_.load(); }};
    send_content(exchange->response, exchange->responder.stream(std::move(*shared_head)), exchange->span, limits);
    log(*exchange);
  });
  if (!taken) {
    answer_busy(*exchange, "all content providers are busy and their queue is full");
  }
}

void Service::log(const Exchange& exchange) {
  if (!handlers_.logger) {
    return;
  }
  try {
    handlers_.logger(exchange.request, exchange.response);
  } catch (...) {
    telemetry::log(telemetry::LogLevel::kError, "the logger threw", {{"error", text_of(std::current_exception())}});
  }
}

}  // namespace outrigger::http::cpp_httplib::internal
