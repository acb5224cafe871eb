#include "service/journal/internal/store_keys.h"

#include <algorithm>

namespace outrigger::journal::keys {
namespace {

std::string partitioned(char kind, std::uint32_t partition) {
  std::string key(1, kind);
  for (int shift = 24; shift >= 0; shift -= 8) {
    key.push_back(static_cast<char>(partition >> shift & 0xffU));
  }
  return key;
}

std::uint64_t sortable(WallTime time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }
WallTime from_sortable(std::uint64_t number) { return WallTime(std::chrono::milliseconds(static_cast<std::int64_t>(number))); }

}  // namespace

std::string big_endian(std::uint64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(number >> shift & 0xffU));
  }
  return bytes;
}

std::uint64_t from_big_endian(std::string_view eight_bytes) {
  std::uint64_t number = 0;
  for (const char byte : eight_bytes.substr(0, 8)) {
    number = number << 8U | static_cast<std::uint8_t>(byte);
  }
  return number;
}

std::string sagas_of(std::uint32_t partition) { return partitioned('s', partition); }
std::string key_records_of(std::uint32_t partition) { return partitioned('k', partition); }
std::string definitions_of(std::uint32_t partition) { return partitioned('d', partition); }
std::string unfinished_of(std::uint32_t partition) { return partitioned('u', partition); }
std::string finished_of(std::uint32_t partition) { return partitioned('f', partition); }

std::string saga(std::uint32_t partition, std::string_view id) { return sagas_of(partition).append(id); }
std::string key_record(std::uint32_t partition, std::string_view definition, std::string_view key) {
  return key_records_of(partition).append(definition).append(1, '\0').append(key);
}
std::string definition(std::uint32_t partition, std::string_view hash) { return definitions_of(partition).append(hash); }
std::string position(std::uint32_t partition) { return partitioned('p', partition); }
std::string unfinished(std::uint32_t partition, std::string_view id) { return unfinished_of(partition).append(id); }
std::string finished(std::uint32_t partition, WallTime updated_at, std::string_view id) {
  return finished_of(partition).append(big_endian(sortable(updated_at))).append(id);
}
std::string note(std::string_view name) { return std::string("n").append(name); }

std::string newest_first(WallTime created_at, std::string_view id) { return big_endian(~sortable(created_at)).append(id); }
// From 1 ms after the epoch on, so that the sum does not wrap round.
std::string created_before(WallTime time) { return big_endian(~sortable(std::max(time, WallTime(std::chrono::milliseconds(1)))) + 1); }
std::string_view id_of_newest_first(std::string_view suffix) { return suffix.size() < 8 ? std::string_view() : suffix.substr(8); }

std::string listed(saga::SagaStatus status, std::string_view newest_first) {
  return std::string("l").append(1, static_cast<char>(status)).append(newest_first);
}

std::string term(std::string_view search_term, std::string_view newest_first) {
  return std::string("t").append(big_endian(search_term.size())).append(search_term).append(newest_first);
}

std::string business(std::string_view business_key, std::string_view newest_first) {
  return std::string("b").append(big_endian(business_key.size())).append(business_key).append(newest_first);
}

std::string encode_head(const SagaHead& head) {
  return std::string(1, static_cast<char>(head.status)).append(big_endian(sortable(head.created_at))).append(big_endian(sortable(head.updated_at)));
}

std::optional<SagaHead> decode_head(std::string_view value) {
  if (value.size() < kHeadBytes || static_cast<std::uint8_t>(value[0]) > saga::kSagaStatusCount - 1) {
    return std::nullopt;
  }
  return SagaHead{.status = static_cast<saga::SagaStatus>(value[0]),
                  .created_at = from_sortable(from_big_endian(value.substr(1, 8))),
                  .updated_at = from_sortable(from_big_endian(value.substr(9, 8)))};
}

}  // namespace outrigger::journal::keys
