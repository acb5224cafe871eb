#include "lib/http/internal/mailbox.h"

#include <asio/post.hpp>

namespace outrigger::http::internal {

bool Mailbox::run_or_post(Task task) {
  if (is_loop_thread()) {
    task();
    return true;
  }
  return post(std::move(task));
}

bool Mailbox::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (io_ == nullptr) {
    return false;
  }
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) {
    // One wake-up for all that comes until the loop looks. Weak, or a loop that has stopped would keep its own mailbox.
    asio::post(*io_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->run_all();
      }
    });
  }
  return true;
}

void Mailbox::run_all() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) {
    task();
  }
}

void Mailbox::close() {
  std::vector<Task> dropped;
  const std::lock_guard lock(mutex_);
  io_ = nullptr;
  dropped.swap(tasks_);
}

}  // namespace outrigger::http::internal
