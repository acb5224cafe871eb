#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "lib/kafka/group_metadata.h"
#include "service/journal/batch.h"
#include "service/journal/journal.h"

namespace outrigger::journal::internal {

/// Where delivery of a partition's input shall begin.
struct Delivery {
  std::uint32_t partition = 0;
  std::uint64_t session = 0;
  std::int64_t position = 0;
};

/// Which partitions this process owns, under which assignment, and whether they are restored. Thread-safe.
///
/// The group metadata is kept with the assignment it came with: an assignment that is gone has no metadata, so that a lane which
/// missed its revocation cannot commit with a newer generation.
class Ownership final {
 public:
  [[nodiscard]] std::vector<Assignment> assign(std::span<const std::uint32_t> partitions, const kafka::GroupMetadata& group);
  /// Restores of them end; commits go on until drop(), unless the partitions are lost.
  void begin_revoking(std::span<const std::uint32_t> partitions, bool is_lost);
  void drop(std::span<const std::uint32_t> partitions);
  [[nodiscard]] std::vector<std::uint32_t> owned() const;

  /// The metadata for a restore; nothing when any of the assignments is not in force any more.
  [[nodiscard]] std::optional<kafka::GroupMetadata> for_restore(std::span<const Assignment> assignments) const;
  /// The metadata for a commit; nothing when any of the partitions is not owned and restored.
  [[nodiscard]] std::optional<kafka::GroupMetadata> for_commit(std::span<const InputPosition> positions) const;

  /// True when any of the partitions is being taken away or is gone.
  [[nodiscard]] bool is_losing(std::span<const InputPosition> positions) const;

  /// Not readable from now on: its restore has begun.
  void begin_restore(std::span<const Assignment> assignments);
  /// Readable, and to be delivered from `position`. Returns the new session; nothing when the assignment is gone.
  [[nodiscard]] std::optional<std::uint64_t> finish_restore(const Assignment& assignment, std::int64_t position);
  [[nodiscard]] std::vector<Delivery> take_deliveries();

  [[nodiscard]] bool is_readable(std::uint32_t partition) const;

 private:
  struct Owned {
    std::uint64_t epoch = 0;
    kafka::GroupMetadata group;
    bool is_restored = false;
    bool is_revoking = false;
    bool is_lost = false;
  };

  mutable std::mutex mutex_;
  std::uint64_t last_epoch_ = 0;
  std::uint64_t last_session_ = 0;
  std::map<std::uint32_t, Owned> owned_;
  std::map<std::uint32_t, Delivery> deliveries_;
};

}  // namespace outrigger::journal::internal
