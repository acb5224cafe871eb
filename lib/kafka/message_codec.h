#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/contracts/registry.h"
#include "lib/kafka/record.h"
#include "lib/participant/message.h"
#include "lib/runtime/error.h"

namespace outrigger::kafka {

/// Names of the headers that carry a message's identity; CloudEvents attributes have the prefix of its Kafka binding (binary mode).
namespace header {
inline constexpr std::string_view kSpecVersion = "ce_specversion";
inline constexpr std::string_view kId = "ce_id";
inline constexpr std::string_view kSource = "ce_source";
inline constexpr std::string_view kType = "ce_type";
inline constexpr std::string_view kTime = "ce_time";
inline constexpr std::string_view kContentType = "content-type";
inline constexpr std::string_view kSagaId = "saga-id";
inline constexpr std::string_view kSagaPartition = "saga-partition";
inline constexpr std::string_view kSagaStep = "saga-step";
inline constexpr std::string_view kSagaDirection = "saga-direction";
inline constexpr std::string_view kSagaAttempt = "saga-attempt";
inline constexpr std::string_view kIdempotencyKey = "idempotency-key";
inline constexpr std::string_view kReplyTo = "reply-to";
inline constexpr std::string_view kDeadline = "deadline";
inline constexpr std::string_view kTraceparent = "traceparent";
inline constexpr std::string_view kReason = "reason";             ///< dead letters: why
inline constexpr std::string_view kOrigin = "original-position";  ///< dead letters: "topic/partition@offset"
}  // namespace header

/// The schemas of the protocol itself: outrigger.saga.v1.{JsonText, Reply, HistoryEvent}.
[[nodiscard]] std::span<const contracts::EmbeddedSchema> protocol_schemas();

/// The participant protocol as Kafka records: identity in the headers, payload in Avro single-object encoding.
///
/// A command of type T is written with the schema `<package>.T`, its reply with `<package>.TReply`; where there is none, with the
/// protocol's own schemas, which carry JSON text (always, when the package is empty). Reading goes by the fingerprint in the record.
/// Immutable, thread-safe.
class MessageCodec final {
 public:
  /// `registry` outlives the codec and holds protocol_schemas().
  MessageCodec(const contracts::SchemaRegistry& registry, std::string package);

  /// `topic` and partition of the record are the command's destination and partition.
  /// Errors: kInvalidArgument (the payload does not fit its schema; the path is named).
  [[nodiscard]] Result<OutgoingRecord> encode(const participant::Command& command, std::string_view reply_topic) const;
  /// Errors: kDataLoss, kNotFound (unknown schema), kInvalidArgument (a header is missing or malformed; it is named).
  [[nodiscard]] Result<participant::Command> decode_command(const ReceivedRecord& record) const;

  /// Errors: kInvalidArgument (the output does not fit).
  [[nodiscard]] Result<OutgoingRecord> encode(const participant::Reply& reply, const participant::Command& command, std::string_view topic) const;
  [[nodiscard]] Result<participant::Reply> decode_reply(const ReceivedRecord& record) const;

 private:
  const contracts::SchemaRegistry& registry_;
  std::string package_;
};

}  // namespace outrigger::kafka
