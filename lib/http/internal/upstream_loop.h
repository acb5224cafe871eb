#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_set>
#include <variant>
#include <vector>

#include "lib/http/internal/deadline_queue.h"
#include "lib/http/internal/mailbox.h"
#include "lib/http/upstream.h"

namespace outrigger::http::internal {

class UpstreamConnection;

/// Who is told of an answer: once and whole, or as it comes.
using AnswerTaker = std::variant<Upstream::Callback, std::shared_ptr<AnswerReader>>;

/// One request on its way: waiting, or on a connection. Its deadline is the request's, and once its answer is read as it comes, the stall's.
struct Exchange final : DeadlineEntry {
  UpstreamRequest request;
  AnswerTaker taker;
  bool has_begun = false;  // began() was called

  [[nodiscard]] AnswerReader* reader() const {
    const auto* reader = std::get_if<std::shared_ptr<AnswerReader>>(&taker);
    return reader == nullptr ? nullptr : reader->get();
  }
  std::shared_ptr<UpstreamConnection> connection;  // nothing while it waits
};

/// One thread with its share of the connections and of the queue. All but the functions marked otherwise belong to that thread.
class UpstreamLoop final {
 public:
  UpstreamLoop(const UpstreamSettings& settings, asio::ip::tcp::endpoint server, telemetry::Registry& registry);
  ~UpstreamLoop();
  UpstreamLoop(const UpstreamLoop&) = delete;
  UpstreamLoop& operator=(const UpstreamLoop&) = delete;

  void start();                                                        ///< from outside
  void stop();                                                         ///< from outside
  void send(UpstreamRequest request, AnswerTaker taker);               ///< any thread
  void run_after(std::chrono::nanoseconds delay, Mailbox::Task task);  ///< any thread

  // For connections.
  [[nodiscard]] const UpstreamSettings& settings() const { return settings_; }
  [[nodiscard]] const asio::ip::tcp::endpoint& server() const { return server_; }
  [[nodiscard]] std::span<char> read_buffer() { return read_buffer_; }
  void finish(const std::shared_ptr<Exchange>& exchange, Result<Response> result);
  void begin(const std::shared_ptr<Exchange>& exchange, Response head, std::optional<std::uint64_t> body_length);
  void set_stall(Exchange& exchange, bool counts);
  void resend(const std::shared_ptr<Exchange>& exchange);
  void is_free(const std::shared_ptr<UpstreamConnection>& connection);
  void forget(const std::shared_ptr<UpstreamConnection>& connection);
  void set_deadline(UpstreamConnection& connection, DeadlineEntry::Time when);

 private:
  void accept(UpstreamRequest request, AnswerTaker taker);
  void steer(const std::shared_ptr<Exchange>& exchange, bool read_on);
  void dispatch(const std::shared_ptr<Exchange>& exchange);
  void serve_waiting();
  void arm_timer();
  void deadlines_reached();
  telemetry::Counter& result_counter(std::string_view result);

  UpstreamSettings settings_;
  asio::ip::tcp::endpoint server_;
  telemetry::Registry& registry_;
  std::size_t max_connections_;
  std::size_t max_waiting_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::shared_ptr<Mailbox> mailbox_;
  asio::steady_timer timer_;
  DeadlineEntry::Time timer_at_ = DeadlineEntry::kNever;
  DeadlineQueue exchange_deadlines_;
  DeadlineQueue connection_deadlines_;
  std::unordered_set<std::shared_ptr<Exchange>> exchanges_;
  std::deque<std::shared_ptr<Exchange>> waiting_;
  std::unordered_set<std::shared_ptr<UpstreamConnection>> connections_;
  std::vector<std::shared_ptr<UpstreamConnection>> free_;  // the one that was used last is at the back
  std::vector<char> read_buffer_;
  telemetry::Gauge& connections_gauge_;
  telemetry::Gauge& waiting_gauge_;
  telemetry::Counter& resent_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace outrigger::http::internal
