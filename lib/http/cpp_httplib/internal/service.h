#pragma once

#include <httplib.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/http/cpp_httplib/internal/answer.h"
#include "lib/http/cpp_httplib/internal/body.h"
#include "lib/http/cpp_httplib/internal/pool.h"
#include "lib/http/cpp_httplib/internal/request_head.h"
#include "lib/http/cpp_httplib/internal/routes.h"
#include "lib/http/cpp_httplib/settings.h"
#include "lib/http/responder.h"

namespace outrigger::http::cpp_httplib::internal {

/// What a program registers; read only while requests are served.
struct Handlers {
  Routes routes;
  httplib::Server::HandlerWithResponse pre_routing;
  httplib::Server::Handler post_routing;
  httplib::Server::HandlerWithResponse error;
  httplib::Server::ExceptionHandler exception;
  httplib::Logger logger;
  httplib::Headers default_headers;
};

/// Takes requests off the loop and answers them with the handlers, on the pools. Thread-safe.
class Service final {
 public:
  Service(const Handlers& handlers, const Settings& settings, std::string address, telemetry::Registry& registry);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Never blocks: queues the request, or answers 503. Before open() requests are held back, as in a socket's backlog.
  void take(Request request, Responder responder);
  void open(int port);
  /// From now on providers without length end.
  void end_streams() { is_stopping_ = true; }
  /// Waits for the threads. After the engine has been drained: what they answer then goes nowhere.
  void close();

 private:
  struct Exchange;

  void enqueue(const std::shared_ptr<Exchange>& exchange);
  void serve(const std::shared_ptr<Exchange>& exchange);
  void route(Exchange& exchange);
  void call_handler(Exchange& exchange, const Route& route);
  void refuse_body(Exchange& exchange, const BodyFault& fault);
  void handler_threw(Exchange& exchange, const std::exception_ptr& error);
  void fail(Exchange& exchange, const std::exception_ptr& error);
  void finish(Exchange& exchange);
  void send(const std::shared_ptr<Exchange>& exchange);
  void send_provided(const std::shared_ptr<Exchange>& exchange, Response head);
  void log(const Exchange& exchange);
  void answer_busy(Exchange& exchange, std::string_view why) const;
  void limit_reached(std::string_view limit);
  void add_duration(std::string_view pattern);

  const Handlers& handlers_;
  const Settings& settings_;
  const BodyLimits body_limits_;
  LocalEnd local_;  // its port is known at open()
  telemetry::Registry& registry_;
  std::unordered_map<std::string_view, telemetry::Histogram*> durations_;  // by pattern; filled at open()
  std::atomic<bool> is_open_{false};
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> held_;  // before open(); under mutex_
  std::unique_ptr<Pool> providers_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace outrigger::http::cpp_httplib::internal
