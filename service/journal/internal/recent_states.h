#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "service/saga/state.h"

namespace outrigger::journal {

/// Unfinished sagas as they were last written, so that the next step of one reads neither the store nor protobuf. Bounded: the oldest
/// entries go first. Filled by writers only, after the write, so that a slow reader cannot put an old state back. Thread-safe.
class RecentStates final {
 public:
  using StatePointer = std::shared_ptr<const saga::SagaState>;

  explicit RecentStates(std::size_t capacity) : shard_capacity_(capacity / kShards + 1) {}

  void wrote(const StatePointer& state);  ///< a finished one is forgotten
  void forget(std::string_view saga_id);
  void clear();
  [[nodiscard]] StatePointer find(std::string_view saga_id) const;  ///< null: not here

 private:
  static constexpr std::size_t kShards = 8;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, StatePointer, Hash, std::equal_to<>> states;
    std::deque<std::string> order;  // of their first write; may name ids that have gone
  };
  [[nodiscard]] Shard& shard_of(std::string_view saga_id) { return shards_.at(Hash{}(saga_id) % kShards); }

  const std::size_t shard_capacity_;
  std::array<Shard, kShards> shards_;
};

}  // namespace outrigger::journal
