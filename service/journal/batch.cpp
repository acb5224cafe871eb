#include "service/journal/batch.h"

#include <format>
#include <set>
#include <unordered_map>

#include "outrigger/saga/v1/state.pb.h"

namespace outrigger::journal {
namespace {

namespace v1 = ::outrigger::saga::v1;
constexpr std::uint32_t kFormatVersion = 1;

Result<void> check_format(std::uint32_t version) {
  if (version == 0) {
    return fail(ErrorCode::kDataLoss, "a stored record has no format version: the store is damaged");
  }
  if (version > kFormatVersion) {
    return fail(ErrorCode::kFailedPrecondition,
                std::format("a stored record has format {}, this release reads up to {}: run the release that wrote it", version, kFormatVersion));
  }
  return {};
}

}  // namespace

void check_batch(const Batch& batch) {
  std::set<std::uint32_t> positions;
  for (const auto& position : batch.positions) {
    if (!positions.insert(position.partition).second) {
      impossible("journal batch", std::format("partition {} has two positions", position.partition));
    }
  }
  const auto touch = [&](std::uint32_t partition, std::string_view what) {
    if (!positions.contains(partition)) {
      impossible("journal batch", std::format("{} is in partition {}, which has no position: it would be written without a fence", what, partition));
    }
  };
  const auto touch_saga = [&](std::uint32_t partition, const std::string& id) {
    if (saga::partition_of_id(id) != partition) {
      impossible("journal batch", std::format("saga {} does not belong to partition {}", id, partition));
    }
    touch(partition, id);
  };
  std::set<std::string_view> sagas;
  for (const auto& state : batch.states) {
    touch_saga(state->partition, state->id);
    if (!sagas.insert(state->id).second) {
      impossible("journal batch", std::format("saga {} is there twice", state->id));
    }
  }
  for (const auto& removal : batch.removals) {
    touch_saga(removal.partition, removal.saga_id);
    if (!sagas.insert(removal.saga_id).second) {
      impossible("journal batch", std::format("saga {} is there twice", removal.saga_id));
    }
  }
  for (const auto& key : batch.keys) {
    touch_saga(key.partition, key.saga_id);
  }
  for (const auto& command : batch.commands) {
    touch_saga(command.partition, command.saga_id);
  }
  for (const auto& record : batch.history) {
    touch_saga(record.partition, record.saga_id);
  }
  for (const auto& definition : batch.definitions) {
    touch(definition.partition, definition.hash);
  }
  for (const auto& letter : batch.dead_letters) {
    touch(letter.partition, letter.source);
  }
}

std::string encode(const KeyRecord& record) {
  v1::KeyRecord stored;
  stored.set_format_version(kFormatVersion);
  stored.set_partition(record.partition);
  stored.set_definition(record.definition);
  stored.set_key(record.key);
  stored.set_fingerprint(record.fingerprint);
  stored.set_saga_id(record.saga_id);
  stored.set_created_at_ms(record.created_at.time_since_epoch().count());
  return stored.SerializeAsString();
}

Result<KeyRecord> decode_key_record(std::string_view bytes) {
  v1::KeyRecord stored;
  if (!stored.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(ErrorCode::kDataLoss, std::format("{} bytes are no key record: the store is damaged", bytes.size()));
  }
  if (auto readable = check_format(stored.format_version()); !readable) {
    return std::unexpected(readable.error());
  }
  return KeyRecord{.partition = stored.partition(),
                   .definition = stored.definition(),
                   .key = stored.key(),
                   .fingerprint = stored.fingerprint(),
                   .saga_id = stored.saga_id(),
                   .created_at = WallTime(std::chrono::milliseconds(stored.created_at_ms()))};
}

std::string encode(const DefinitionRecord& record) {
  v1::DefinitionRecord stored;
  stored.set_format_version(kFormatVersion);
  stored.set_partition(record.partition);
  stored.set_hash(record.hash);
  stored.set_body(record.body);
  return stored.SerializeAsString();
}

Result<DefinitionRecord> decode_definition_record(std::string_view bytes) {
  v1::DefinitionRecord stored;
  if (!stored.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(ErrorCode::kDataLoss, std::format("{} bytes are no definition record: the store is damaged", bytes.size()));
  }
  if (auto readable = check_format(stored.format_version()); !readable) {
    return std::unexpected(readable.error());
  }
  return DefinitionRecord{.partition = stored.partition(), .hash = stored.hash(), .body = stored.body()};
}

}  // namespace outrigger::journal
