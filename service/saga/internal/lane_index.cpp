#include "service/saga/internal/lane_index.h"

#include <algorithm>

#include "service/saga/decide.h"

namespace outrigger::saga {

LaneIndex::Partition* LaneIndex::find(std::uint32_t partition) {
  const auto found = partitions_.find(partition);
  return found == partitions_.end() || !found->second.is_restored ? nullptr : &found->second;
}

void LaneIndex::assign(const journal::Assignment& assignment) {
  drop(assignment.partition);
  partitions_[assignment.partition].assignment = assignment;
}

void LaneIndex::restored(const journal::Restored& restored) {
  auto& partition = partitions_[restored.assignment.partition];
  partition.assignment = restored.assignment;
  partition.session = restored.session;
  partition.position = restored.position;
  partition.is_restored = true;
}

void LaneIndex::invalidate(std::uint32_t partition) {
  forget_partition(partition);
  const auto assignment = partitions_[partition].assignment;
  partitions_[partition] = {};
  partitions_[partition].assignment = assignment;
}

void LaneIndex::drop(std::uint32_t partition) {
  forget_partition(partition);
  partitions_.erase(partition);
}

void LaneIndex::forget_partition(std::uint32_t partition) {
  for (auto saga = sagas_.begin(); saga != sagas_.end();) {
    const auto next = std::next(saga);
    if (saga->second.partition == partition) {
      forget(saga);
    }
    saga = next;
  }
}

std::vector<journal::Assignment> LaneIndex::to_restore() const {
  std::vector<journal::Assignment> assignments;
  for (const auto& [number, partition] : partitions_) {
    if (!partition.is_restored) {
      assignments.push_back(partition.assignment);
    }
  }
  return assignments;
}

std::vector<std::uint32_t> LaneIndex::owned() const {
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, partition] : partitions_) {
    numbers.push_back(number);
  }
  return numbers;
}

std::size_t LaneIndex::restored_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(partitions_, [](const auto& entry) { return entry.second.is_restored; }));
}

void LaneIndex::forget(Sagas::iterator saga) {
  --counts_[static_cast<std::size_t>(saga->second.status)];
  ages_.erase({saga->second.created_at, saga->first});
  if (saga->second.due) {
    timers_.erase({*saga->second.due, saga->first});
  }
  sagas_.erase(saga);
}

void LaneIndex::track(const SagaState& state) {
  if (const auto known = sagas_.find(state.id); known != sagas_.end()) {
    forget(known);
  }
  if (state.is_finished()) {
    return;
  }
  const auto due = saga::next_due(state);
  sagas_[state.id] = {.partition = state.partition, .status = state.status, .created_at = state.created_at, .due = due};
  ++counts_[static_cast<std::size_t>(state.status)];
  ages_.insert({state.created_at, state.id});
  if (due) {
    timers_.insert({*due, state.id});
  }
}

std::optional<std::pair<std::string, WallTime>> LaneIndex::pop_due(WallTime now) {
  if (timers_.empty() || timers_.begin()->first > now) {
    return std::nullopt;
  }
  const auto [due, id] = *timers_.begin();
  timers_.erase(timers_.begin());
  sagas_[id].due.reset();
  return std::pair(id, due);
}

void LaneIndex::arm(const std::string& saga_id, WallTime at) {
  const auto saga = sagas_.find(saga_id);
  if (saga == sagas_.end()) {
    return;
  }
  if (saga->second.due) {
    timers_.erase({*saga->second.due, saga_id});
  }
  saga->second.due = at;
  timers_.insert({at, saga_id});
}

std::optional<WallTime> LaneIndex::next_due() const { return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first); }
std::optional<WallTime> LaneIndex::oldest() const { return ages_.empty() ? std::nullopt : std::optional(ages_.begin()->first); }

}  // namespace outrigger::saga
