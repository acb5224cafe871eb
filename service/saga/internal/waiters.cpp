#include "service/saga/internal/waiters.h"

namespace outrigger::saga {
namespace {

bool is_satisfied(const WaitFor& condition, const SagaState& saga) {
  return saga.is_finished() || (condition.after_version ? saga.version > *condition.after_version : saga.status == SagaStatus::kStuck);
}

}  // namespace

Waiters::Waiters(std::size_t capacity, Read read) : capacity_(capacity), read_(std::move(read)), thread_([this] { mind_deadlines(); }) {}
Waiters::~Waiters() { stop(); }

bool Waiters::wait(const std::string& saga_id, const WaitFor& condition, SagaCallback& callback) {
  std::uint64_t ticket = 0;
  bool answer_now = false;
  {
    const std::lock_guard lock(mutex_);
    answer_now = stopping_;
    if (size_ >= capacity_) {
      return false;
    }
    ticket = ++last_ticket_;
    ++size_;
    const bool is_first = deadlines_.empty() || condition.deadline < deadlines_.begin()->first;
    deadlines_.insert({condition.deadline, {ticket, saga_id}});
    by_saga_[saga_id].push_back({.ticket = ticket, .condition = condition, .callback = std::move(callback)});
    if (is_first) {
      changed_.notify_one();
    }
  }
  const auto saga = read_(saga_id);
  if (answer_now || !saga || is_satisfied(condition, **saga)) {
    for (auto& waiter : take(saga_id, [&](const Waiter& each) { return each.ticket == ticket; })) {
      waiter(saga);
    }
  }
  return true;
}

void Waiters::published(const SagaPointer& saga) {
  if (size_.load(std::memory_order_acquire) == 0) {
    return;
  }
  for (auto& callback : take(saga->id, [&](const Waiter& each) { return is_satisfied(each.condition, *saga); })) {
    callback(saga);
  }
}

std::vector<SagaCallback> Waiters::take(std::string_view saga_id, const std::function<bool(const Waiter&)>& chosen) {
  std::vector<SagaCallback> callbacks;
  const std::lock_guard lock(mutex_);
  const auto found = by_saga_.find(saga_id);
  if (found == by_saga_.end()) {
    return callbacks;
  }
  std::vector<Waiter> kept;
  for (auto& waiter : found->second) {
    if (!chosen(waiter)) {
      kept.push_back(std::move(waiter));
      continue;
    }
    deadlines_.erase({waiter.condition.deadline, {waiter.ticket, found->first}});
    callbacks.push_back(std::move(waiter.callback));
    --size_;
  }
  found->second = std::move(kept);
  if (found->second.empty()) {
    by_saga_.erase(found);
  }
  return callbacks;
}

void Waiters::mind_deadlines() {
  while (true) {
    std::unique_lock lock(mutex_);
    if (deadlines_.empty()) {
      if (stopping_) {
        return;
      }
      changed_.wait(lock, [&] { return stopping_ || !deadlines_.empty(); });
      continue;
    }
    const auto [deadline, waiter] = *deadlines_.begin();
    if (!stopping_ && deadline > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, deadline);
      continue;
    }
    lock.unlock();
    auto callbacks = take(waiter.second, [&](const Waiter& each) { return each.ticket == waiter.first; });
    if (!callbacks.empty()) {
      const auto saga = read_(waiter.second);
      for (auto& callback : callbacks) {
        callback(saga);
      }
    }
  }
}

void Waiters::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace outrigger::saga
