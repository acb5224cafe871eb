#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "service/journal/journal.h"
#include "service/saga/state.h"

namespace outrigger::saga {

/// What a lane knows of its partitions beside the journal: positions, and of each unfinished saga its timer, status and age.
/// All of it is derived; restore() rebuilds it. Some hundred bytes a saga: the states stay in the journal's store.
class LaneIndex final {
 public:
  struct Partition {
    journal::Assignment assignment;
    bool is_restored = false;
    std::uint64_t session = 0;
    std::int64_t position = 0;
    std::set<std::string, std::less<>> definitions;                         ///< hashes stored in the partition
    std::map<std::pair<std::string, std::uint32_t>, std::string> versions;  ///< (name, version) -> hash
  };

  /// Owned and restored, or nullptr.
  [[nodiscard]] Partition* find(std::uint32_t partition);
  void assign(const journal::Assignment& assignment);
  void restored(const journal::Restored& restored);
  /// Forgets what was known of a partition's sagas; it needs a restore.
  void invalidate(std::uint32_t partition);
  void drop(std::uint32_t partition);
  [[nodiscard]] std::vector<journal::Assignment> to_restore() const;
  [[nodiscard]] std::vector<std::uint32_t> owned() const;
  [[nodiscard]] std::size_t restored_count() const;

  /// Takes in a committed state: a finished saga is forgotten.
  void track(const SagaState& state);
  [[nodiscard]] bool is_tracked(const std::string& saga_id) const { return sagas_.contains(saga_id); }
  /// The earliest timer that is due; it is disarmed.
  [[nodiscard]] std::optional<std::pair<std::string, WallTime>> pop_due(WallTime now);
  void arm(const std::string& saga_id, WallTime at);
  [[nodiscard]] std::optional<WallTime> next_due() const;

  [[nodiscard]] std::uint64_t count(SagaStatus status) const { return counts_[static_cast<std::size_t>(status)]; }
  [[nodiscard]] std::optional<WallTime> oldest() const;

 private:
  struct Saga {
    std::uint32_t partition = 0;
    SagaStatus status = SagaStatus::kRunning;
    WallTime created_at;
    std::optional<WallTime> due;
  };
  using Sagas = std::unordered_map<std::string, Saga>;
  void forget(Sagas::iterator saga);
  void forget_partition(std::uint32_t partition);

  std::map<std::uint32_t, Partition> partitions_;
  Sagas sagas_;
  std::set<std::pair<WallTime, std::string>> timers_;
  std::set<std::pair<WallTime, std::string>> ages_;
  std::array<std::uint64_t, kSagaStatusCount> counts_{};
};

}  // namespace outrigger::saga
