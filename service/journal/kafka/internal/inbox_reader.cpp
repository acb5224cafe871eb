#include "service/journal/kafka/internal/inbox_reader.h"

#include "lib/telemetry/log.h"
#include "service/journal/kafka/metrics.h"

namespace outrigger::journal::internal {

InboxReader::InboxReader(kafka::Consumer& consumer, const RecordCodec& codec, Ownership& ownership, Listener& listener, telemetry::Registry& metrics)
    : consumer_(consumer), codec_(codec), ownership_(ownership), listener_(listener), metrics_(metrics) {}

void InboxReader::begin_deliveries() {
  for (const auto& delivery : ownership_.take_deliveries()) {
    pending_[delivery.partition] = delivery;
  }
  std::erase_if(pending_, [&](const auto& entry) {
    const auto& [partition, delivery] = entry;
    if (!ownership_.is_readable(partition)) {
      return true;
    }
    if (auto sought = consumer_.seek({.partition = inbox_partition(partition), .next = delivery.position}); !sought) {
      telemetry::log(telemetry::LogLevel::kWarning, "cannot begin to read the inbox; trying again",
                     {{"partition", std::to_string(partition)}, {"why", sought.error().to_string()}});
      return false;
    }
    inboxes_[partition] = {.session = delivery.session, .held = std::nullopt};
    return true;
  });
}

bool InboxReader::offer() {
  begin_deliveries();
  bool is_holding = false;
  for (auto& [partition, inbox] : inboxes_) {
    if (!inbox.held) {
      continue;
    }
    if (listener_.on_input(*inbox.held)) {
      // By seeking, not by resuming: whatever slipped through while it was held comes again.
      pending_[partition] = {.partition = partition, .session = inbox.session, .position = inbox.held->next_position};
      inbox.held.reset();
    }
    is_holding = true;
  }
  return is_holding;
}

void InboxReader::deliver(const kafka::ReceivedRecord& record) {
  const auto partition = static_cast<std::uint32_t>(record.partition);
  const auto found = inboxes_.find(partition);
  if (found == inboxes_.end()) {
    return;  // fetched before its restore ended: it comes again
  }
  InboxRecord input{
      .partition = partition, .session = found->second.session, .next_position = record.offset + 1, .body = codec_.decode_input(record)};
  if (!found->second.held && !pending_.contains(partition) && !listener_.on_input(input)) {
    found->second.held = std::move(input);
    consumer_.pause(inbox_partition(partition));
    metrics_.counter(metrics::kInboxPauses).add();
  }
}

void InboxReader::forget(std::span<const std::uint32_t> partitions) {
  for (const auto partition : partitions) {
    inboxes_.erase(partition);
    pending_.erase(partition);
  }
}

kafka::TopicPartition InboxReader::inbox_partition(std::uint32_t partition) const {
  return {.topic = codec_.topics().inbox, .partition = static_cast<std::int32_t>(partition)};
}

}  // namespace outrigger::journal::internal
