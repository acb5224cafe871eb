#include "lib/runtime/worker_pool.h"

#include <algorithm>
#include <format>

#include "lib/runtime/cpu.h"

namespace outrigger {

WorkerPool::WorkerPool(Settings settings) : settings_(settings) {
  const auto threads = settings.threads == 0 ? available_cpus() : settings.threads;
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::scoped_lock lock(mutex_);
    is_draining_ = is_stopping_ = true;
  }
  arrived_.notify_all();
}

Result<void> WorkerPool::submit(Task&& task) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_draining_) {
      return fail(ErrorCode::kUnavailable, "stopping: no more work is taken");
    }
    if (queue_.size() >= settings_.queue_capacity) {
      return fail(ErrorCode::kResourceExhausted, std::format("{} tasks wait already: try again shortly", queue_.size()));
    }
    queue_.push_back(std::move(task));
  }
  arrived_.notify_one();
  return {};
}

std::size_t WorkerPool::drain(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  is_draining_ = true;
  idle_.wait_until(lock, deadline, [this] { return queue_.empty() && busy_ == 0; });
  return queue_.size() + busy_;
}

std::size_t WorkerPool::queued() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    auto task = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    task();
    task = nullptr;  // what it captured goes before it counts as done
    lock.lock();
    --busy_;
    if (queue_.empty() && busy_ == 0) {
      idle_.notify_all();
    }
  }
}

}  // namespace outrigger
