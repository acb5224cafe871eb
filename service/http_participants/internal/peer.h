#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/http/upstream.h"
#include "service/http_participants/http_transport.h"
#include "service/http_participants/internal/exchange.h"

namespace outrigger::http_participants {

/// One server that participants live on: its queue, its connections, its circuit breaker. Thread-safe; sends and answers happen on
/// the thread of its client.
class Peer final {
 public:
  struct Parts {
    const Settings& settings;
    telemetry::Registry& registry;
    saga::ReplySink& replies;
    std::function<void()> ask_resolver;  ///< the address may have changed
  };

  Peer(Parts parts, std::string host, std::uint16_t port);
  ~Peer();  ///< after stop()

  [[nodiscard]] bool offer(const participant::Command& command, const http::Url& url);
  void stop();

  // For the resolver's thread.
  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] bool wants_address(MonotonicTime now) const;
  /// Goes on with the address it has while it is one of these and answers; else with the next one.
  void use(const std::vector<std::string>& addresses, MonotonicTime now);
  void cannot_resolve(const std::string& why, MonotonicTime now);
  void drop_retired(MonotonicTime now);

 private:
  struct Call;
  struct Retired {
    std::unique_ptr<http::Upstream> upstream;
    MonotonicTime at;
  };
  using Answer = Result<http::Response>;

  void pump();
  void schedule_pump();  ///< under the mutex
  void send(std::unique_ptr<Call> call);
  void answered(std::unique_ptr<Call> call, const Answer& answer);
  void poll_answered(std::unique_ptr<Call> call, const Answer& answer);
  Verdict settle(const Call& call, const http::Url& url, const Answer& answer);
  void in_progress(std::unique_ptr<Call> call, Verdict verdict);
  void poll_later(std::unique_ptr<Call> call, std::chrono::nanoseconds after);
  void poll(std::unique_ptr<Call> call);
  void reply(const participant::Command& command, Verdict verdict);
  void deliver(participant::Reply reply, MonotonicTime until);
  void run_after(std::chrono::nanoseconds delay, std::move_only_function<void()> task);
  void count(std::string_view result);
  void show_circuit();  ///< under the mutex
  [[nodiscard]] telemetry::Labels labels() const;

  const Parts parts_;
  const std::string host_;
  const std::uint16_t port_;
  const std::string name_;  ///< host:port
  telemetry::Gauge& in_flight_gauge_;
  telemetry::Gauge& in_progress_gauge_;
  telemetry::Gauge& queue_gauge_;
  telemetry::Gauge& circuit_gauge_;
  telemetry::Counter& circuit_opened_;
  telemetry::Counter& queue_full_;
  telemetry::Counter& polls_;
  telemetry::Counter& dropped_;
  telemetry::Histogram& duration_;

  std::atomic<std::size_t> in_progress_ = 0;
  mutable std::mutex mutex_;
  CircuitBreaker breaker_;
  std::deque<std::unique_ptr<Call>> queue_;
  std::size_t in_flight_ = 0;
  bool is_pump_scheduled_ = false;
  bool is_stopping_ = false;
  const bool is_literal_;  ///< the host is an address
  bool is_address_doubtful_ = true;
  std::string address_;
  MonotonicTime resolved_at_{};
  std::vector<Retired> retired_;  ///< still answering what they were asked
  std::unique_ptr<http::Upstream> upstream_;
};

}  // namespace outrigger::http_participants
