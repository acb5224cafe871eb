#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/runtime/clock.h"
#include "service/saga/state.h"

/// The keys of the record store. One key space; the first byte says what a key is, numbers are big-endian so that keys sort.
/// Changing any of it needs a new kStoreFormat.
namespace outrigger::journal::keys {

inline constexpr std::string_view kMeta = "m";  ///< format and partition count

[[nodiscard]] std::string saga(std::uint32_t partition, std::string_view id);  ///< -> SagaHead + record
[[nodiscard]] std::string key_record(std::uint32_t partition, std::string_view definition, std::string_view key);
[[nodiscard]] std::string definition(std::uint32_t partition, std::string_view hash);
[[nodiscard]] std::string position(std::uint32_t partition);
[[nodiscard]] std::string unfinished(std::uint32_t partition, std::string_view id);
[[nodiscard]] std::string finished(std::uint32_t partition, WallTime updated_at, std::string_view id);
[[nodiscard]] std::string note(std::string_view name);

/// What sorts sagas newest first: inverted time of creation, then id. Also the cursor of a listing.
[[nodiscard]] std::string newest_first(WallTime created_at, std::string_view id);
[[nodiscard]] std::string listed(saga::SagaStatus status, std::string_view newest_first);          ///< -> definition
[[nodiscard]] std::string business(std::string_view business_key, std::string_view newest_first);  ///< -> definition
[[nodiscard]] std::string term(std::string_view search_term, std::string_view newest_first);       ///< -> definition
/// Sorts before every place of a saga created before `time`, and after all others'.
[[nodiscard]] std::string created_before(WallTime time);
[[nodiscard]] std::string_view id_of_newest_first(std::string_view suffix);

/// Prefixes of the keys above.
[[nodiscard]] std::string sagas_of(std::uint32_t partition);
[[nodiscard]] std::string key_records_of(std::uint32_t partition);
[[nodiscard]] std::string definitions_of(std::uint32_t partition);
[[nodiscard]] std::string unfinished_of(std::uint32_t partition);
[[nodiscard]] std::string finished_of(std::uint32_t partition);

/// What a listing's index entries depend on, stored in front of the record so that a write need not decode the old one.
struct SagaHead {
  saga::SagaStatus status = saga::SagaStatus::kRunning;
  WallTime created_at;
  WallTime updated_at;
};
[[nodiscard]] std::string encode_head(const SagaHead& head);
inline constexpr std::size_t kHeadBytes = 17;
[[nodiscard]] std::optional<SagaHead> decode_head(std::string_view value);

[[nodiscard]] std::string big_endian(std::uint64_t number);
[[nodiscard]] std::uint64_t from_big_endian(std::string_view eight_bytes);

}  // namespace outrigger::journal::keys
