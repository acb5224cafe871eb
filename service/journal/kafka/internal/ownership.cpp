#include "service/journal/kafka/internal/ownership.h"

#include <algorithm>

namespace outrigger::journal::internal {

std::vector<Assignment> Ownership::assign(std::span<const std::uint32_t> partitions, const kafka::GroupMetadata& group) {
  const std::lock_guard lock(mutex_);
  ++last_epoch_;
  std::vector<Assignment> assignments;
  for (const auto partition : partitions) {
    owned_.insert_or_assign(partition, Owned{.epoch = last_epoch_, .group = group});
    assignments.push_back({.partition = partition, .epoch = last_epoch_});
  }
  return assignments;
}

void Ownership::begin_revoking(std::span<const std::uint32_t> partitions, bool is_lost) {
  const std::lock_guard lock(mutex_);
  for (const auto partition : partitions) {
    if (const auto found = owned_.find(partition); found != owned_.end()) {
      found->second.is_revoking = true;
      found->second.is_lost = is_lost;
    }
    deliveries_.erase(partition);
  }
}

void Ownership::drop(std::span<const std::uint32_t> partitions) {
  const std::lock_guard lock(mutex_);
  for (const auto partition : partitions) {
    owned_.erase(partition);
    deliveries_.erase(partition);
  }
}

std::vector<std::uint32_t> Ownership::owned() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> partitions;
  for (const auto& [partition, ignored] : owned_) {
    partitions.push_back(partition);
  }
  return partitions;
}

std::optional<kafka::GroupMetadata> Ownership::for_restore(std::span<const Assignment> assignments) const {
  const std::lock_guard lock(mutex_);
  std::optional<kafka::GroupMetadata> group;
  for (const auto& assignment : assignments) {
    const auto found = owned_.find(assignment.partition);
    if (found == owned_.end() || found->second.epoch != assignment.epoch || found->second.is_revoking) {
      return std::nullopt;
    }
    group = found->second.group;
  }
  return group;
}

std::optional<kafka::GroupMetadata> Ownership::for_commit(std::span<const InputPosition> positions) const {
  const std::lock_guard lock(mutex_);
  std::optional<kafka::GroupMetadata> group;
  std::uint64_t epoch = 0;
  for (const auto& position : positions) {
    const auto found = owned_.find(position.partition);
    if (found == owned_.end() || !found->second.is_restored || found->second.is_lost || (epoch != 0 && epoch != found->second.epoch)) {
      return std::nullopt;
    }
    epoch = found->second.epoch;
    group = found->second.group;
  }
  return group;
}

bool Ownership::is_losing(std::span<const InputPosition> positions) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(positions, [&](const InputPosition& position) {
    const auto found = owned_.find(position.partition);
    return found == owned_.end() || found->second.is_revoking;
  });
}

void Ownership::begin_restore(std::span<const Assignment> assignments) {
  const std::lock_guard lock(mutex_);
  for (const auto& assignment : assignments) {
    if (const auto found = owned_.find(assignment.partition); found != owned_.end() && found->second.epoch == assignment.epoch) {
      found->second.is_restored = false;
      deliveries_.erase(assignment.partition);
    }
  }
}

std::optional<std::uint64_t> Ownership::finish_restore(const Assignment& assignment, std::int64_t position) {
  const std::lock_guard lock(mutex_);
  const auto found = owned_.find(assignment.partition);
  if (found == owned_.end() || found->second.epoch != assignment.epoch || found->second.is_revoking) {
    return std::nullopt;
  }
  found->second.is_restored = true;
  deliveries_[assignment.partition] = {.partition = assignment.partition, .session = ++last_session_, .position = position};
  return last_session_;
}

std::vector<Delivery> Ownership::take_deliveries() {
  const std::lock_guard lock(mutex_);
  std::vector<Delivery> taken;
  for (const auto& [partition, delivery] : deliveries_) {
    taken.push_back(delivery);
  }
  deliveries_.clear();
  return taken;
}

bool Ownership::is_readable(std::uint32_t partition) const {
  const std::lock_guard lock(mutex_);
  const auto found = owned_.find(partition);
  return found != owned_.end() && found->second.is_restored;
}

}  // namespace outrigger::journal::internal
