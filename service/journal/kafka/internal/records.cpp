#include "service/journal/kafka/internal/records.h"

#include <charconv>
#include <format>
#include <nlohmann/json.hpp>

#include "lib/telemetry/log.h"
#include "service/journal/kafka/metrics.h"
#include "service/saga/state.h"

namespace outrigger::journal::internal {
namespace {

using kafka::OutgoingRecord;
using Json = nlohmann::json;

constexpr std::string_view kHistory = "outrigger.saga.v1.HistoryEvent";
constexpr std::string_view kSaga = "saga:";
constexpr std::string_view kKey = "key:";
constexpr std::string_view kDefinition = "definition:";

std::string key_of_saga(std::string_view id) { return std::format("{}{}", kSaga, id); }
std::string key_of_key(std::string_view definition, std::string_view key) {
  return std::format("{}{}:{}:{}", kKey, definition.size(), definition, key);
}

/// The other way; an empty definition and key when it is none.
std::pair<std::string, std::string> read_key_of_key(std::string_view text) {
  text.remove_prefix(kKey.size());
  std::size_t length = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), length);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (problem != std::errc{} || text.size() < 2 || length > text.size() - 2) {
    return {};
  }
  return {std::string(text.substr(1, length)), std::string(text.substr(length + 2))};
}

OutgoingRecord state_record(const TopicNames& topics, std::uint32_t partition, std::string key, std::optional<std::string> value) {
  return {.topic = topics.state, .partition = static_cast<std::int32_t>(partition), .key = std::move(key), .value = std::move(value), .headers = {}};
}

}  // namespace

RecordCodec::RecordCodec(const contracts::SchemaRegistry& contracts, std::string package, TopicNames topics, telemetry::Registry& metrics)
    : contracts_(contracts),
      messages_(contracts, std::move(package)),
      messages_as_text_(contracts, {}),
      topics_(std::move(topics)),
      metrics_(metrics) {}

Result<std::vector<OutgoingRecord>> RecordCodec::encode(const Batch& batch) const {
  std::vector<OutgoingRecord> records;
  for (const auto& definition : batch.definitions) {
    records.push_back(state_record(topics_, definition.partition, std::format("{}{}", kDefinition, definition.hash), journal::encode(definition)));
  }
  for (const auto& removal : batch.removals) {
    records.push_back(state_record(topics_, removal.partition, key_of_saga(removal.saga_id), std::nullopt));
    records.push_back(state_record(topics_, removal.partition, key_of_key(removal.definition, removal.idempotency_key), std::nullopt));
  }
  for (const auto& key : batch.keys) {
    records.push_back(state_record(topics_, key.partition, key_of_key(key.definition, key.key), journal::encode(key)));
  }
  for (const auto& state : batch.states) {
    records.push_back(state_record(topics_, state->partition, key_of_saga(state->id), saga::encode(*state)));
  }
  for (const auto& command : batch.commands) {
    auto record = messages_.encode(command, topics_.inbox);
    if (!record) {
      // A client's order can hold what the contract does not know. The participant decides about it; the lane must go on.
      metrics_.counter(metrics::kContractFallbacks, {{"type", command.type}}).add();
      telemetry::log(telemetry::LogLevel::kWarning, "a command does not fit its schema and travels as JSON text",
                     {{"saga_id", command.saga_id}, {"type", command.type}, {"why", record.error().to_string()}});
      record = messages_as_text_.encode(command, topics_.inbox);
    }
    if (!record) {
      return fail(ErrorCode::kInternal, record.error().to_string());
    }
    records.push_back(std::move(*record));
  }
  for (const auto& entry : batch.history) {
    const Json document{{"saga_id", entry.saga_id},         {"definition", entry.definition},
                        {"sequence", entry.event.sequence}, {"at", entry.event.at.time_since_epoch().count()},
                        {"event", entry.event.event},       {"step", entry.event.step},
                        {"detail", entry.event.detail}};
    auto value = contracts_.encode(kHistory, document.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!value) {
      return fail(ErrorCode::kInternal, value.error().to_string());
    }
    records.push_back({.topic = topics_.history,
                       .partition = static_cast<std::int32_t>(entry.partition),
                       .key = entry.saga_id,
                       .value = std::move(*value),
                       .headers = {{std::string(kafka::header::kSpecVersion), "1.0"},
                                   {std::string(kafka::header::kId), std::format("{}/{}", entry.saga_id, entry.event.sequence)},
                                   {std::string(kafka::header::kSource), "/outrigger/sagas"},
                                   {std::string(kafka::header::kType), entry.event.event},
                                   {std::string(kafka::header::kContentType), "application/avro"},
                                   {std::string(kafka::header::kSagaId), entry.saga_id}}});
  }
  for (const auto& letter : batch.dead_letters) {
    OutgoingRecord record{.topic = topics_.dead_letters,
                          .partition = static_cast<std::int32_t>(letter.partition),
                          .key = letter.key,
                          .value = letter.value,
                          .headers = letter.headers};
    record.headers.emplace_back(kafka::header::kOrigin, letter.source);
    record.headers.emplace_back(kafka::header::kReason, letter.reason);
    records.push_back(std::move(record));
  }
  return records;
}

Result<void> RecordCodec::add_state_record(const kafka::ReceivedRecord& record, Batch& batch) const {
  const auto partition = static_cast<std::uint32_t>(record.partition);
  const auto damaged = [&](const Error& error) { return fail(error.code, error.to_string(), record.position()); };
  if (record.key.starts_with(kSaga)) {
    if (!record.value) {
      batch.removals.push_back({.partition = partition, .saga_id = record.key.substr(kSaga.size()), .definition = {}, .idempotency_key = {}});
      return {};
    }
    auto state = saga::decode(*record.value);
    if (!state) {
      return damaged(state.error());
    }
    if (state->partition != partition || record.key != key_of_saga(state->id)) {
      return damaged(
          {ErrorCode::kDataLoss, std::format("the record of {} holds saga {} of partition {}", record.key, state->id, state->partition), {}});
    }
    batch.states.push_back(std::make_shared<const saga::SagaState>(std::move(*state)));
    return {};
  }
  if (record.key.starts_with(kKey)) {
    if (!record.value) {
      auto [definition, key] = read_key_of_key(record.key);
      batch.removals.push_back({.partition = partition, .saga_id = {}, .definition = std::move(definition), .idempotency_key = std::move(key)});
      return {};
    }
    auto key = decode_key_record(*record.value);
    if (!key) {
      return damaged(key.error());
    }
    batch.keys.push_back(std::move(*key));
    return {};
  }
  if (record.key.starts_with(kDefinition) && record.value) {
    auto definition = decode_definition_record(*record.value);
    if (!definition) {
      return damaged(definition.error());
    }
    batch.definitions.push_back(std::move(*definition));
    return {};
  }
  return damaged({ErrorCode::kDataLoss, std::format("a state record has the unknown key '{}'", record.key), {}});
}

std::variant<participant::Reply, DeadLetter> RecordCodec::decode_input(const kafka::ReceivedRecord& record) const {
  auto reply = messages_.decode_reply(record);
  std::string reason;
  if (!reply) {
    reason = reply.error().message;
  } else if (reply->partition != static_cast<std::uint32_t>(record.partition)) {
    reason = std::format("it names partition {}", reply->partition);
  } else if (saga::partition_of_id(reply->saga_id) != reply->partition) {
    reason = std::format("'{}' is not the id of a saga of this partition", reply->saga_id);
  } else {
    return std::move(*reply);
  }
  return DeadLetter{.partition = static_cast<std::uint32_t>(record.partition),
                    .reason = std::move(reason),
                    .source = record.position(),
                    .key = record.key,
                    .value = record.value.value_or(""),
                    .headers = record.headers};
}

}  // namespace outrigger::journal::internal
