#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/contracts/registry.h"
#include "lib/kafka/message_codec.h"
#include "lib/kafka/record.h"
#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "service/journal/batch.h"
#include "service/journal/kafka/topics.h"

namespace outrigger::journal::internal {

/// Batches as records, and records of the state topic as batches. Keys of the state topic:
/// "saga:<id>", "key:<length of definition>:<definition>:<idempotency key>", "definition:<hash>"; no value removes.
class RecordCodec final {
 public:
  RecordCodec(const contracts::SchemaRegistry& contracts, std::string package, TopicNames topics, telemetry::Registry& metrics);

  /// Every record of a batch, those of the state topic first. Errors: kInternal (the protocol's own schemas are missing).
  [[nodiscard]] Result<std::vector<kafka::OutgoingRecord>> encode(const Batch& batch) const;

  /// Adds a record of the state topic to a batch. Errors: kDataLoss with its position, kFailedPrecondition (a newer format).
  [[nodiscard]] Result<void> add_state_record(const kafka::ReceivedRecord& record, Batch& batch) const;

  /// A reply, or a dead letter saying why it is none.
  [[nodiscard]] std::variant<participant::Reply, DeadLetter> decode_input(const kafka::ReceivedRecord& record) const;

  [[nodiscard]] const TopicNames& topics() const { return topics_; }

 private:
  const contracts::SchemaRegistry& contracts_;
  kafka::MessageCodec messages_;
  kafka::MessageCodec messages_as_text_;
  TopicNames topics_;
  telemetry::Registry& metrics_;
};

}  // namespace outrigger::journal::internal
