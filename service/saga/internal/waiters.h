#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <condition_variable>

#include "service/saga/engine.h"

namespace outrigger::saga {

/// Callers that wait for a saga to change, without a thread each: one thread minds their deadlines. Thread-safe.
class Waiters final {
 public:
  using Read = std::function<Result<SagaPointer>(std::string_view saga_id)>;

  Waiters(std::size_t capacity, Read read);
  ~Waiters();

  /// Registers first and reads then, so that no change is missed. False: too many wait; the callback is as it was.
  [[nodiscard]] bool wait(const std::string& saga_id, const WaitFor& condition, SagaCallback& callback);
  /// A committed state: answers whom it satisfies.
  void published(const SagaPointer& saga);
  /// Answers all as their sagas stand, and whoever comes later at once.
  void stop();
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Waiter {
    std::uint64_t ticket = 0;
    WaitFor condition;
    SagaCallback callback;
  };
  void mind_deadlines();
  [[nodiscard]] std::vector<SagaCallback> take(std::string_view saga_id, const std::function<bool(const Waiter&)>& chosen);

  const std::size_t capacity_;
  const Read read_;
  std::atomic<std::size_t> size_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::uint64_t last_ticket_ = 0;
  std::map<std::string, std::vector<Waiter>, std::less<>> by_saga_;
  std::set<std::pair<MonotonicTime, std::pair<std::uint64_t, std::string>>> deadlines_;
  std::jthread thread_;
};

}  // namespace outrigger::saga
