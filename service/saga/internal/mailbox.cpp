#include "service/saga/internal/mailbox.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace outrigger::saga {
namespace {

template <class T>
void move_front(std::deque<T>& from, std::size_t count, std::vector<T>& to) {
  for (std::size_t i = 0; i < count && !from.empty(); ++i) {
    to.push_back(std::move(from.front()));
    from.pop_front();
  }
}

}  // namespace

bool Mailbox::put(Request& request) {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || requests_.size() >= request_capacity_) {
    return false;
  }
  requests_.push_back(std::move(request));
  arrived();
  return true;
}

bool Mailbox::put(participant::Reply& reply) {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || replies_.size() >= reply_capacity_) {
    return false;
  }
  replies_.push_back(std::move(reply));
  arrived();
  return true;
}

bool Mailbox::put(journal::InboxRecord& record) {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || records_.size() >= reply_capacity_) {
    return false;
  }
  records_.push_back(std::move(record));
  arrived();
  return true;
}

void Mailbox::arrived() {
  if (!waiting_since_) {
    waiting_since_ = std::chrono::steady_clock::now();
  }
  something_.notify_one();
}

void Mailbox::put(Control control) {
  const std::lock_guard lock(mutex_);
  controls_.push_back(std::move(control));
  something_.notify_one();
}

Mailbox::Taken Mailbox::take(std::size_t limit) {
  const std::lock_guard lock(mutex_);
  Taken taken;
  const auto answers = replies_.size() + records_.size();
  const auto requests = std::min(requests_.size(), std::max(limit / 2, limit - std::min(limit, answers)));
  move_front(requests_, requests, taken.requests);
  move_front(records_, limit - requests, taken.records);
  move_front(replies_, limit - requests - taken.records.size(), taken.replies);
  taken.waiting_since = std::exchange(waiting_since_, std::nullopt);
  if (!requests_.empty() || !replies_.empty() || !records_.empty()) {
    waiting_since_ = taken.waiting_since;
  }
  return taken;
}

std::vector<Control> Mailbox::take_controls() {
  const std::lock_guard lock(mutex_);
  return std::exchange(controls_, {});
}

void Mailbox::wait_until(MonotonicTime time) {
  std::unique_lock lock(mutex_);
  something_.wait_until(lock, time, [&] { return woken_ || !requests_.empty() || !replies_.empty() || !records_.empty() || !controls_.empty(); });
  woken_ = false;
}

void Mailbox::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  something_.notify_one();
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
}

bool Mailbox::is_empty() const {
  const std::lock_guard lock(mutex_);
  return requests_.empty() && replies_.empty() && records_.empty() && controls_.empty();
}

}  // namespace outrigger::saga
