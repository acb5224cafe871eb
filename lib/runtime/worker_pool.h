#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger {

/// Bounded pool of worker threads with a bounded queue.
///
/// Submitting never blocks: a full queue is an answer, so that callers can shed load. Thread-safe. Tasks must not throw.
/// The destructor runs what is queued, then joins.
class WorkerPool final {
 public:
  using Task = std::move_only_function<void()>;

  struct Settings {
    std::size_t threads = 0;            ///< 0: one per CPU that the cgroup grants
    std::size_t queue_capacity = 1024;  ///< tasks, not bytes
  };

  explicit WorkerPool(Settings settings);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Moves from `task` only when it is taken.
  /// Errors: kResourceExhausted when the queue is full, kUnavailable after drain() began.
  [[nodiscard]] Result<void> submit(Task&& task);

  /// Stops taking work, waits until idle or `deadline`; returns the number of tasks left, which still run.
  std::size_t drain(std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] std::size_t queued() const;  ///< for metrics

 private:
  void work();

  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable idle_;
  std::deque<Task> queue_;
  std::size_t busy_ = 0;
  bool is_draining_ = false;
  bool is_stopping_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace outrigger
