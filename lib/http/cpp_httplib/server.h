#pragma once

#include <httplib.h>

#include <chrono>
#include <memory>
#include <string>

#include "lib/http/cpp_httplib/settings.h"
#include "lib/http/router.h"
#include "lib/telemetry/metrics.h"

namespace outrigger::http::cpp_httplib {

/// The server type for a program that was written for httplib::Server (0.18): same handlers, same names, on the event-driven engine.
///
/// Handlers run on a bounded pool; its full queue is an answer (503 with Retry-After). Content providers run on a pool of their own.
/// What is not offered does not compile; the README says what behaves differently, and why. Register everything before bind_to_…()
/// or listen(); the functions after that line are thread-safe.
class Server final {
 public:
  using Handler = httplib::Server::Handler;
  using HandlerResponse = httplib::Server::HandlerResponse;
  using HandlerWithResponse = httplib::Server::HandlerWithResponse;
  using HandlerWithContentReader = httplib::Server::HandlerWithContentReader;
  using ExceptionHandler = httplib::Server::ExceptionHandler;

  Server();  ///< with a metrics registry of its own
  explicit Server(Settings settings);
  Server(Settings settings, telemetry::Registry& registry);  ///< `registry` must outlive it
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// A pattern is a regular expression that must match the whole decoded path, or has "/:name" segments. Throws std::regex_error for
  /// a wrong one and for one with back-references.
  Server& Get(const std::string& pattern, Handler handler);
  Server& Post(const std::string& pattern, Handler handler);
  Server& Post(const std::string& pattern, HandlerWithContentReader handler);
  Server& Put(const std::string& pattern, Handler handler);
  Server& Put(const std::string& pattern, HandlerWithContentReader handler);
  Server& Patch(const std::string& pattern, Handler handler);
  Server& Patch(const std::string& pattern, HandlerWithContentReader handler);
  Server& Delete(const std::string& pattern, Handler handler);
  Server& Delete(const std::string& pattern, HandlerWithContentReader handler);
  Server& Options(const std::string& pattern, Handler handler);

  /// Routes of lib/http's own kinds, before all of the above: they never wait for the pool. Patterns are the router's.
  Server& handle_on_loop(Method method, const std::string& pattern, LoopHandler handler);
  Server& defer(Method method, const std::string& pattern, DeferredHandler handler);

  template <class ErrorHandler>
  Server& set_error_handler(ErrorHandler&& handler) {
    if constexpr (std::is_convertible_v<ErrorHandler, HandlerWithResponse>) {
      return set_error_handler_with_response(std::forward<ErrorHandler>(handler));
    } else {
      return set_error_handler_with_response([plain = Handler(std::forward<ErrorHandler>(handler))](const auto& request, auto& response) {
        plain(request, response);
        return HandlerResponse::Handled;
      });
    }
  }
  Server& set_exception_handler(ExceptionHandler handler);
  Server& set_pre_routing_handler(HandlerWithResponse handler);
  Server& set_post_routing_handler(Handler handler);
  Server& set_logger(httplib::Logger logger);  ///< called on the pool's threads, at once by several
  Server& set_default_headers(httplib::Headers headers);

  Server& set_payload_max_length(std::size_t bytes);
  Server& set_keep_alive_timeout(time_t seconds);
  /// For the whole head of a request, and for each silence within its body.
  Server& set_read_timeout(time_t seconds, time_t microseconds = 0);
  Server& set_write_timeout(time_t seconds, time_t microseconds = 0);
  template <class Rep, class Period>
  Server& set_read_timeout(const std::chrono::duration<Rep, Period>& duration) {
    return set_read_timeout(0, std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
  }
  template <class Rep, class Period>
  Server& set_write_timeout(const std::chrono::duration<Rep, Period>& duration) {
    return set_write_timeout(0, std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
  }

  // ---- thread-safe from here on

  bool bind_to_port(const std::string& host, int port);
  int bind_to_any_port(const std::string& host);  ///< the port, or -1
  bool listen_after_bind();                       ///< until stop(); then waits Settings::drain for requests in flight
  bool listen(const std::string& host, int port);
  void stop();
  [[nodiscard]] bool is_valid() const { return true; }
  [[nodiscard]] bool is_running() const;
  void wait_until_ready() const;  ///< until it listens, could not bind, or 30 s have passed
  [[nodiscard]] telemetry::Registry& registry() const;

  // ---- not offered: the compiler shows the line, and with it the reason

  template <class... Any>
  void set_base_dir(Any&&...) = delete;  // serve files from a proxy, or with set_file_content()
  template <class... Any>
  void set_mount_point(Any&&...) = delete;  // serve files from a proxy, or with set_file_content()
  template <class... Any>
  void remove_mount_point(Any&&...) = delete;  // there are no mount points
  template <class... Any>
  void set_file_request_handler(Any&&...) = delete;  // there are no mount points
  template <class... Any>
  void set_default_file_mimetype(Any&&...) = delete;  // there are no mount points
  template <class... Any>
  void set_file_extension_and_mimetype_mapping(Any&&...) = delete;  // there are no mount points
  template <class... Any>
  void set_expect_100_continue_handler(Any&&...) = delete;  // the engine answers Expect itself
  template <class... Any>
  void set_header_writer(Any&&...) = delete;  // what goes on the wire is the engine's business
  template <class... Any>
  void set_socket_options(Any&&...) = delete;  // the engine owns its sockets
  template <class... Any>
  void set_address_family(Any&&...) = delete;  // the address decides: "::" takes both families
  template <class... Any>
  void set_ipv6_v6only(Any&&...) = delete;  // the address decides: "::" takes both families
  template <class... Any>
  void set_tcp_nodelay(Any&&...) = delete;  // always on
  template <class... Any>
  void set_keep_alive_max_count(Any&&...) = delete;  // an idle connection costs no thread: no maximum
  template <class... Any>
  void set_idle_interval(Any&&...) = delete;  // nothing is polled
  template <class... Any>
  void decommission(Any&&...) = delete;  // stop() serves who is already connected

 private:
  Server& set_error_handler_with_response(HandlerWithResponse handler);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outrigger::http::cpp_httplib
