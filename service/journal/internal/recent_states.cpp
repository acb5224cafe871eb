#include "service/journal/internal/recent_states.h"

namespace outrigger::journal {

void RecentStates::wrote(const StatePointer& state) {
  if (state->is_finished()) {
    forget(state->id);
    return;
  }
  auto& shard = shard_of(state->id);
  const std::lock_guard lock(shard.mutex);
  if (const auto known = shard.states.find(state->id); known != shard.states.end()) {
    known->second = state;
    return;
  }
  while (shard.order.size() >= shard_capacity_) {
    shard.states.erase(shard.order.front());
    shard.order.pop_front();
  }
  shard.order.push_back(state->id);
  shard.states.emplace(state->id, state);
}

void RecentStates::forget(std::string_view saga_id) {
  auto& shard = shard_of(saga_id);
  const std::lock_guard lock(shard.mutex);
  if (const auto known = shard.states.find(saga_id); known != shard.states.end()) {
    shard.states.erase(known);
  }
}

void RecentStates::clear() {
  for (auto& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.states.clear();
    shard.order.clear();
  }
}

RecentStates::StatePointer RecentStates::find(std::string_view saga_id) const {
  const auto& shard = shards_.at(Hash{}(saga_id) % kShards);
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.states.find(saga_id);
  return known == shard.states.end() ? nullptr : known->second;
}

}  // namespace outrigger::journal
