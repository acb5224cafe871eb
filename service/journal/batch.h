#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/participant/message.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"
#include "service/saga/state.h"

namespace outrigger::journal {

/// Which saga an idempotency key started. Scope: (definition, key); lives in the saga's partition.
struct KeyRecord {
  std::uint32_t partition = 0;
  std::string definition;
  std::string key;
  std::string fingerprint;  ///< SHA-256 (hex) of the payload: the same key with another payload is refused
  std::string saga_id;
  WallTime created_at;

  bool operator==(const KeyRecord&) const = default;
};

/// A definition's canonical body, kept in each partition that runs sagas of it, so that any owner can run them.
struct DefinitionRecord {
  std::uint32_t partition = 0;
  std::string hash;
  std::string body;

  bool operator==(const DefinitionRecord&) const = default;
};

/// One line of a saga's history, for the audit stream (Kafka: saga.history). The last 50 are in the state too.
struct HistoryRecord {
  std::string saga_id;
  std::uint32_t partition = 0;
  std::string definition;
  saga::HistoryEvent event;
};

/// Input that could not be used; kept with its reason (Kafka: saga.dlq).
struct DeadLetter {
  std::uint32_t partition = 0;
  std::string reason;
  std::string source;  ///< where it came from, such as "saga.inbox.g1/3@1234"
  std::string key;
  std::string value;                                           ///< as it came
  std::vector<std::pair<std::string, std::string>> headers{};  ///< as they came
};

/// A finished saga whose retention has ended: state and key record go.
struct Removal {
  std::uint32_t partition = 0;
  std::string saga_id;
  std::string definition;
  std::string idempotency_key;
};

/// Where a partition's input has been processed to (Kafka: the next offset of its inbox partition).
struct InputPosition {
  std::uint32_t partition = 0;
  std::int64_t next = 0;

  bool operator==(const InputPosition&) const = default;
};

/// What a lane writes at once: states, commands, history and input positions in one atomic write.
///
/// `positions` names every partition that the batch touches, changed or not: in Kafka the offsets are what carries the fence, and
/// a transaction without them would fence nobody.
struct Batch {
  std::vector<std::shared_ptr<const saga::SagaState>> states;  ///< at most one of each saga
  std::vector<KeyRecord> keys;
  std::vector<DefinitionRecord> definitions;
  std::vector<Removal> removals;
  std::vector<participant::Command> commands;
  std::vector<HistoryRecord> history;
  std::vector<DeadLetter> dead_letters;
  std::vector<InputPosition> positions;
};

/// Ends the process when a batch cannot be right: a touched partition without exactly one position, a saga twice, a saga or key
/// in a partition that its id does not name.
void check_batch(const Batch& batch);

/// The stored form of the small records: protobuf outrigger.saga.v1. (encode() of a SagaState is in service/saga/state.h.)
[[nodiscard]] std::string encode(const KeyRecord& record);
[[nodiscard]] Result<KeyRecord> decode_key_record(std::string_view bytes);
[[nodiscard]] std::string encode(const DefinitionRecord& record);
[[nodiscard]] Result<DefinitionRecord> decode_definition_record(std::string_view bytes);

}  // namespace outrigger::journal
