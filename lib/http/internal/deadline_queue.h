#pragma once

#include <chrono>
#include <map>

namespace outrigger::http::internal {

/// Something that must happen by a time unless the time moves: the base of a connection. One queue at most holds it.
class DeadlineEntry {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr Time kNever = Time::max();

  DeadlineEntry() = default;
  DeadlineEntry(const DeadlineEntry&) = delete;
  DeadlineEntry& operator=(const DeadlineEntry&) = delete;

  [[nodiscard]] Time deadline() const { return deadline_; }

 protected:
  ~DeadlineEntry() = default;

 private:
  friend class DeadlineQueue;
  Time deadline_ = kNever;
  Time queued_at_ = kNever;
  std::multimap<Time, DeadlineEntry*>::iterator position_;
};

/// Deadlines of one loop, ordered. Moving a deadline later, as every request does, only stores it: the entry is put right
/// when its old time comes. Not thread-safe.
class DeadlineQueue final {
 public:
  using Time = DeadlineEntry::Time;

  /// Returns true when the earliest time of the queue became earlier: the timer must be set anew.
  bool set(DeadlineEntry& entry, Time when) {
    entry.deadline_ = when;
    if (when >= entry.queued_at_) {
      return false;
    }
    const bool is_first = entries_.empty() || when < entries_.begin()->first;
    if (entry.queued_at_ == DeadlineEntry::kNever) {
      entry.position_ = entries_.emplace(when, &entry);
    } else {
      move(entry, when);
    }
    entry.queued_at_ = when;
    return is_first;
  }

  void remove(DeadlineEntry& entry) {
    if (entry.queued_at_ != DeadlineEntry::kNever) {
      entries_.erase(entry.position_);
      entry.queued_at_ = DeadlineEntry::kNever;
    }
    entry.deadline_ = DeadlineEntry::kNever;
  }

  /// An entry whose deadline has come, removed from the queue; nullptr when there is none.
  DeadlineEntry* take_due(Time now) {
    while (!entries_.empty() && entries_.begin()->first <= now) {
      auto& entry = *entries_.begin()->second;
      if (entry.deadline_ <= now) {
        remove(entry);
        return &entry;
      }
      if (entry.deadline_ == DeadlineEntry::kNever) {
        remove(entry);
      } else {
        move(entry, entry.deadline_);
        entry.queued_at_ = entry.deadline_;
      }
    }
    return nullptr;
  }

  /// When to look again; kNever when nothing is queued.
  [[nodiscard]] Time next() const { return entries_.empty() ? DeadlineEntry::kNever : entries_.begin()->first; }

 private:
  void move(DeadlineEntry& entry, Time when) {
    auto node = entries_.extract(entry.position_);
    node.key() = when;
    entry.position_ = entries_.insert(std::move(node));
  }

  std::multimap<Time, DeadlineEntry*> entries_;
};

}  // namespace outrigger::http::internal
