#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace outrigger::kafka {

class Consumer;

/// Who a consumer was in its group when it got its partitions: generation, member id and instance id together are the fence.
/// Captured in the assign callback, never fetched later: a later one could be of a generation that gave the partitions away.
/// Copies share; thread-safe.
class GroupMetadata final {
 public:
  /// Of no group: never given by a consumer, for tests of what only keeps it.
  [[nodiscard]] static GroupMetadata none() { return GroupMetadata(nullptr); }

  [[nodiscard]] std::int32_t generation() const;
  [[nodiscard]] std::string member_id() const;
  /// rd_kafka_consumer_group_metadata_t, for lib/kafka's own sources.
  [[nodiscard]] const void* handle() const { return handle_.get(); }

 private:
  friend class Consumer;
  explicit GroupMetadata(std::shared_ptr<const void> handle) : handle_(std::move(handle)) {}
  std::shared_ptr<const void> handle_;
};

}  // namespace outrigger::kafka
