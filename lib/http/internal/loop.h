#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "lib/http/internal/deadline_queue.h"
#include "lib/http/internal/mailbox.h"
#include "lib/http/internal/output_queue.h"
#include "lib/http/internal/request_parser.h"
#include "lib/http/internal/response_writer.h"
#include "lib/http/internal/server_metrics.h"
#include "lib/http/server.h"

namespace outrigger::http::internal {

class Connection;

/// What the loops of one server share.
struct ServerShared {
  ServerShared(ServerSettings server_settings, Router server_router, telemetry::Registry& server_registry)
      : settings(std::move(server_settings)), router(std::move(server_router)), registry(server_registry) {}

  ServerSettings settings;
  Router router;
  telemetry::Registry& registry;
  std::atomic<bool> is_draining{false};
  std::atomic<std::size_t> connections{0};
  std::mutex mutex;
  std::condition_variable changed;  ///< connections became 0, or a loop's accept queue is empty
  std::size_t listeners = 0;        ///< open; under mutex
};

/// One thread that accepts and serves connections. All but the functions marked otherwise belong to that thread.
class Loop final {
 public:
  Loop(ServerShared& shared, unsigned index, int listening_socket);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void start();           ///< from outside
  void stop_accepting();  ///< from outside: serves what waits in the accept queue, then closes it and what is idle
  std::size_t stop();     ///< from outside: cuts off what is open, ends the thread; returns the requests that were cut off

  [[nodiscard]] const ServerSettings& settings() const { return shared_.settings; }
  [[nodiscard]] const Router& router() const { return shared_.router; }
  [[nodiscard]] bool is_draining() const { return shared_.is_draining.load(std::memory_order_relaxed); }
  [[nodiscard]] ServerMetrics& metrics() { return metrics_; }
  [[nodiscard]] asio::io_context& io() { return io_; }
  [[nodiscard]] const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  [[nodiscard]] std::span<char> read_buffer() { return read_buffer_; }
  [[nodiscard]] std::string_view date();
  [[nodiscard]] Response& scratch_response();

  std::unique_ptr<RequestParser> take_parser();
  void give_back(std::unique_ptr<RequestParser> parser);
  std::unique_ptr<OutputQueue> take_output();
  void give_back(std::unique_ptr<OutputQueue> output);

  void set_deadline(Connection& connection, DeadlineEntry::Time when);
  /// From outside, for Server::list_requests(): calls back on the loop with what is under way, at most `limit`.
  void list_requests(std::size_t limit, std::move_only_function<void(std::vector<RequestInFlight>)> callback);
  void forget(const std::shared_ptr<Connection>& connection);

  // Counted here, read from any thread.
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::size_t> in_flight{0};

 private:
  void wait_accept();
  void accept_some(std::size_t limit);
  void take_in(int socket, const sockaddr_storage& peer);
  void refuse_connection(int socket);
  void pause_accepting();
  void close_listener();
  void arm_timer();

  ServerShared& shared_;
  unsigned index_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::shared_ptr<Mailbox> mailbox_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  asio::steady_timer deadline_timer_;
  DeadlineEntry::Time timer_at_ = DeadlineEntry::kNever;
  DeadlineQueue deadlines_;
  ServerMetrics metrics_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::vector<char> read_buffer_;
  std::vector<std::unique_ptr<RequestParser>> parsers_;
  std::vector<std::unique_ptr<OutputQueue>> outputs_;
  HttpDate date_{};
  std::time_t date_second_ = 0;
  Response scratch_;
  std::thread thread_;
};

}  // namespace outrigger::http::internal
