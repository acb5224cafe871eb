#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/kafka/admin.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"
#include "service/journal/kafka/internal/records.h"
#include "service/journal/kafka/kafka_journal.h"
#include "service/journal/record_store.h"

namespace outrigger::journal::internal {

/// The local copy of the state topic: a RecordStore that remembers for each partition up to which offset it holds the topic.
///
/// It is never ahead of what is committed: records come from reading read_committed, or from a batch after its commit, with the
/// offsets of the delivery reports. Thread-safe; one writer per partition.
class Cache final {
 public:
  /// Opens the store; what another cluster or topic filled, or what is damaged, is thrown away.
  [[nodiscard]] static Result<std::unique_ptr<Cache>> open(const KafkaSettings& settings, const RecordCodec& codec, const kafka::Admin& admin,
                                                           telemetry::Registry& metrics);

  /// Reads the state topic's partitions up to the high watermark as it is now. Ends early with kAborted when `is_wanted` says no.
  /// Errors: kDeadlineExceeded (no progress for restore_stall; names where it stopped), kDataLoss, kUnavailable.
  [[nodiscard]] Result<void> catch_up(std::span<const std::uint32_t> partitions, const std::function<bool()>& is_wanted);

  /// A batch that was committed: `offsets` are those of `records`. Not an error is that the next catch_up() mends.
  [[nodiscard]] Result<void> apply(const Batch& batch, std::span<const kafka::OutgoingRecord> records, std::span<const std::int64_t> offsets);

  [[nodiscard]] const RecordStore& store() const { return *store_; }

 private:
  struct Range {
    std::uint32_t partition = 0;
    std::int64_t next = 0;  ///< offset that is read next
    std::int64_t end = 0;   ///< high watermark when the catch-up began
  };

  Cache(const KafkaSettings& settings, const RecordCodec& codec, const kafka::Admin& admin, telemetry::Registry& metrics);
  [[nodiscard]] Result<Range> measure(std::uint32_t partition);
  [[nodiscard]] Result<void> read(std::vector<Range> ranges, const std::function<bool()>& is_wanted);
  [[nodiscard]] Result<void> wipe(std::uint32_t partition, std::string_view reason);

  const KafkaSettings& settings_;
  const RecordCodec& codec_;
  const kafka::Admin& admin_;
  telemetry::Registry& metrics_;
  std::unique_ptr<RecordStore> store_;
  std::chrono::milliseconds tombstones_kept_{0};
};

}  // namespace outrigger::journal::internal
