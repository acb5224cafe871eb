#include "service/orders/in_process_transport.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>

#include "lib/runtime/crash_point.h"
#include "service/orders/metrics.h"

namespace outrigger::orders {
namespace {

// A lane whose queue is full empties it within a commit or two; beyond this the command is sent again anyway.
constexpr std::chrono::milliseconds kDeliverFor{500};
constexpr std::chrono::milliseconds kDeliverPause{2};

}  // namespace

class InProcessTransport::Worker {
 public:
  Worker(const Settings& settings, std::unique_ptr<Participant> participant, telemetry::Registry& registry)
      : settings_(settings),
        participant_(std::move(participant)),
        length_(registry.gauge(metrics::kQueueLength, labels())),
        full_(registry.counter(metrics::kQueueFull, labels())),
        dropped_(registry.counter(metrics::kRepliesDropped, labels())) {}

  [[nodiscard]] std::string_view destination() const { return orders::destination(participant_->kind()); }

  bool offer(const participant::Command& command) {
    {
      const std::scoped_lock lock(mutex_);
      if (queue_.size() >= settings_.queue_capacity) {
        full_.add();
        return false;
      }
      queue_.push_back(command);
      length_.set(static_cast<double>(queue_.size()));
    }
    arrived_.notify_one();
    return true;
  }

  void start(saga::ReplySink& replies) {
    thread_ = std::jthread([this, &replies](const std::stop_token& stop) { run(stop, replies); });
  }

  void request_stop() { thread_.request_stop(); }
  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  [[nodiscard]] telemetry::Labels labels() const { return {{"participant", std::string(name(participant_->kind()))}}; }

  void run(const std::stop_token& stop, saga::ReplySink& replies) {
    while (true) {
      const auto batch = take(stop);
      if (batch.empty()) {
        return;
      }
      for (const auto& reply : participant_->process(batch)) {
        crash_point(CrashPoint::kReplyBefore);
        deliver(stop, replies, reply);
        crash_point(CrashPoint::kReplyAfter);
      }
    }
  }

  // Empty when told to stop.
  std::vector<participant::Command> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait(lock, stop, [this] { return !queue_.empty(); }) || stop.stop_requested()) {
      return {};
    }
    if (participant_->latency().count() > 0) {
      // Waits out the configured slowness, unless told to stop.
      arrived_.wait_for(lock, stop, participant_->latency(), [] { return false; });
      if (stop.stop_requested()) {
        return {};
      }
    }
    const auto count = std::min(queue_.size(), settings_.batch_limit);
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<participant::Command> batch(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
    queue_.erase(queue_.begin(), end);
    length_.set(static_cast<double>(queue_.size()));
    return batch;
  }

  void deliver(const std::stop_token& stop, saga::ReplySink& replies, const participant::Reply& reply) {
    const auto until = std::chrono::steady_clock::now() + kDeliverFor;
    while (true) {
      const auto delivered = replies.deliver(reply);
      if (delivered) {
        return;
      }
      if (delivered.error().code != ErrorCode::kResourceExhausted || std::chrono::steady_clock::now() >= until || stop.stop_requested()) {
        dropped_.add();
        return;
      }
      std::this_thread::sleep_for(kDeliverPause);
    }
  }

  Settings settings_;
  std::unique_ptr<Participant> participant_;
  telemetry::Gauge& length_;
  telemetry::Counter& full_;
  telemetry::Counter& dropped_;
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<participant::Command> queue_;
  std::jthread thread_;
};

InProcessTransport::InProcessTransport(Settings settings, std::vector<std::unique_ptr<Participant>> participants, telemetry::Registry& registry) {
  for (auto& participant : participants) {
    workers_.push_back(std::make_unique<Worker>(settings, std::move(participant), registry));
  }
}

InProcessTransport::~InProcessTransport() { stop(); }

bool InProcessTransport::offer(const participant::Command& command) {
  const auto worker = std::ranges::find(workers_, command.destination, &Worker::destination);
  return worker != workers_.end() && (*worker)->offer(command);
}

bool InProcessTransport::serves(std::string_view destination) const {
  return std::ranges::find(workers_, destination, &Worker::destination) != workers_.end();
}

void InProcessTransport::start(saga::ReplySink& replies) {
  for (const auto& worker : workers_) {
    worker->start(replies);
  }
}

void InProcessTransport::stop() {
  for (const auto& worker : workers_) {
    worker->request_stop();
  }
  for (const auto& worker : workers_) {
    worker->join();
  }
}

}  // namespace outrigger::orders
