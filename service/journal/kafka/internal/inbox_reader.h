#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "lib/kafka/consumer.h"
#include "lib/telemetry/metrics.h"
#include "service/journal/journal.h"
#include "service/journal/kafka/internal/ownership.h"
#include "service/journal/kafka/internal/records.h"

namespace outrigger::journal::internal {

/// Hands inbox records to the listener, in order, each with the session of the restore that it follows. What finds no room is
/// held, with its partition paused. Used by the polling thread only, so that a record and its session cannot drift apart.
class InboxReader final {
 public:
  /// All outlive the reader.
  InboxReader(kafka::Consumer& consumer, const RecordCodec& codec, Ownership& ownership, Listener& listener, telemetry::Registry& metrics);

  /// Begins what restores asked for and offers what is held again. True: something is still held.
  bool offer();
  void deliver(const kafka::ReceivedRecord& record);
  void forget(std::span<const std::uint32_t> partitions);
  [[nodiscard]] bool reads(std::uint32_t partition) const { return inboxes_.contains(partition); }

 private:
  struct Inbox {
    std::uint64_t session = 0;
    std::optional<InboxRecord> held;
  };

  void begin_deliveries();
  [[nodiscard]] kafka::TopicPartition inbox_partition(std::uint32_t partition) const;

  kafka::Consumer& consumer_;
  const RecordCodec& codec_;
  Ownership& ownership_;
  Listener& listener_;
  telemetry::Registry& metrics_;
  std::map<std::uint32_t, Inbox> inboxes_;
  std::map<std::uint32_t, Delivery> pending_;
};

}  // namespace outrigger::journal::internal
