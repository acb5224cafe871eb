#include "service/journal/record_store.h"

#include <algorithm>
#include <array>
#include <format>

#include "service/journal/internal/record_store_impl.h"
#include "service/journal/internal/store_keys.h"

namespace outrigger::journal {
namespace {

constexpr std::size_t kMaxPage = 1000;
/// Entries one page may look at: a filter that nothing matches gives an empty page with a cursor, not an endless scan.
constexpr std::size_t kMaxLookedAt = 20'000;

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += std::format("{:02x}", static_cast<std::uint8_t>(byte));
  }
  return text;
}

Result<std::string> cursor_from_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes;
  const bool is_hex = std::ranges::all_of(text, [&](char digit) { return kDigits.contains(digit); });
  if (!is_hex || text.size() % 2 != 0 || text.size() < 2 * 9 || text.size() > 2 * 128) {
    return fail(ErrorCode::kInvalidArgument, "the cursor is none: pass the next_cursor of the page before, unchanged");
  }
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(kDigits.find(text[i]) * 16 + kDigits.find(text[i + 1])));
  }
  return bytes;
}

}  // namespace

RecordStore::RecordStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordStore::~RecordStore() = default;

Result<std::unique_ptr<RecordStore>> RecordStore::open(const Settings& settings) {
  if (settings.partitions == 0 || settings.partitions > 4096) {
    return fail(ErrorCode::kInvalidArgument, std::format("{} partitions are not possible: use 1 to 4096", settings.partitions));
  }
  auto impl = std::make_unique<Impl>(settings);
  if (auto opened = impl->open(); !opened) {
    return std::unexpected(opened.error());
  }
  return std::unique_ptr<RecordStore>(new RecordStore(std::move(impl)));
}

Result<void> RecordStore::apply(const Batch& batch, std::span<const std::pair<std::string, std::string>> notes) { return impl_->apply(batch, notes); }
Result<void> RecordStore::recover() { return impl_->recover(); }
Result<void> RecordStore::wipe(std::uint32_t partition) { return impl_->wipe(partition); }
Result<void> RecordStore::health() const { return impl_->health(); }
std::uint32_t RecordStore::partitions() const { return impl_->settings().partitions; }
Result<std::optional<std::string>> RecordStore::note(std::string_view name) const { return impl_->get(keys::note(name)); }

Result<std::int64_t> RecordStore::position(std::uint32_t partition) const {
  return impl_->get(keys::position(partition)).transform([](const std::optional<std::string>& bytes) {
    return bytes ? static_cast<std::int64_t>(keys::from_big_endian(*bytes)) : 0;
  });
}

Result<std::vector<DefinitionRecord>> RecordStore::definitions(std::uint32_t partition) const {
  std::vector<DefinitionRecord> records;
  Result<void> decoded;
  const auto scanned = impl_->scan(keys::definitions_of(partition), {}, [&](std::string_view, std::string_view value) {
    auto record = decode_definition_record(value);
    if (!record) {
      decoded = std::unexpected(record.error());
      return false;
    }
    records.push_back(std::move(*record));
    return true;
  });
  if (!scanned || !decoded) {
    return std::unexpected(scanned ? decoded.error() : scanned.error());
  }
  return records;
}

Result<void> RecordStore::each_unfinished(std::uint32_t partition, const std::function<void(const saga::SagaState&)>& visit) const {
  std::vector<std::string> ids;
  const auto scanned = impl_->scan(keys::unfinished_of(partition), {}, [&](std::string_view id, std::string_view) {
    ids.emplace_back(id);
    return true;
  });
  if (!scanned) {
    return scanned;
  }
  for (const auto& id : ids) {
    auto state = load(id);
    if (!state) {
      return std::unexpected(state.error());
    }
    if (*state == nullptr) {
      return impl_->damaged(std::format("saga {} is in an index and not there", id));
    }
    visit(**state);
  }
  return {};
}

Result<std::shared_ptr<const saga::SagaState>> RecordStore::load(std::string_view saga_id) const {
  const auto partition = saga::partition_of_id(saga_id);
  if (!partition) {
    return nullptr;
  }
  if (auto recent = impl_->recent().find(saga_id)) {
    return recent;
  }
  auto value = impl_->get(keys::saga(*partition, saga_id));
  if (!value) {
    return std::unexpected(value.error());
  }
  if (!*value) {
    return nullptr;
  }
  auto state = saga::decode(std::string_view(**value).substr(std::min(keys::kHeadBytes, (*value)->size())));
  if (!state) {
    return state.error().code == ErrorCode::kDataLoss ? impl_->damaged(std::format("saga {}: {}", saga_id, state.error().message))
                                                      : std::unexpected(state.error());
  }
  return std::make_shared<const saga::SagaState>(std::move(*state));
}

Result<std::optional<KeyRecord>> RecordStore::find_key(std::string_view definition, std::string_view key) const {
  const auto value = impl_->get(keys::key_record(saga::partition_of_key(key, partitions()), definition, key));
  if (!value) {
    return std::unexpected(value.error());
  }
  if (!*value) {
    return std::nullopt;
  }
  auto record = decode_key_record(**value);
  if (!record) {
    return std::unexpected(record.error());
  }
  return std::move(*record);
}

Result<ListPage> RecordStore::list(const ListQuery& query) const {
  std::string after;
  if (!query.cursor.empty()) {
    auto cursor = cursor_from_hex(query.cursor);
    if (!cursor) {
      return std::unexpected(cursor.error());
    }
    after = std::move(*cursor);
  }
  if (query.created_before) {
    after = std::max(after, keys::created_before(*query.created_before));
  }
  const auto end = query.created_since ? keys::created_before(*query.created_since) : std::string();
  std::vector<std::string> prefixes;
  if (!query.business_key.empty()) {
    prefixes.push_back(keys::business(query.business_key, {}));
  } else if (!query.search_term.empty()) {
    prefixes.push_back(keys::term(query.search_term, {}));
  } else {
    for (auto status = saga::SagaStatus::kRunning; status <= saga::SagaStatus::kPaused;
         status = static_cast<saga::SagaStatus>(static_cast<int>(status) + 1)) {
      if (!query.status || *query.status == status) {
        prefixes.push_back(keys::listed(status, {}));
      }
    }
  }
  const auto limit = std::clamp<std::size_t>(query.limit, 1, kMaxPage);
  std::vector<std::string> places;
  std::string last;
  std::size_t looked_at = 0;
  bool has_more = false;
  const auto merged = impl_->merge(prefixes, after, [&](std::string_view place, std::string_view definition) {
    if (!end.empty() && place >= end) {
      return false;
    }
    if (places.size() == limit || looked_at == kMaxLookedAt) {
      has_more = true;
      return false;
    }
    ++looked_at;
    last = place;
    if (query.definition.empty() || query.definition == definition) {
      places.emplace_back(place);
    }
    return true;
  });
  if (!merged) {
    return std::unexpected(merged.error());
  }
  ListPage page;
  for (const auto& place : places) {
    auto state = load(keys::id_of_newest_first(place));
    if (!state) {
      return std::unexpected(state.error());
    }
    // It may have changed, or gone, since the index was read.
    if (*state != nullptr && (!query.status || (*state)->status == *query.status)) {
      page.sagas.push_back(std::move(*state));
    }
  }
  page.next_cursor = has_more ? to_hex(last) : std::string();
  return page;
}

Result<std::vector<std::string>> RecordStore::finished_before(std::uint32_t partition, WallTime time, std::size_t limit) const {
  std::vector<std::string> ids;
  const auto prefix = keys::finished_of(partition);
  const auto end = keys::finished(partition, time, {}).substr(prefix.size());
  const auto scanned = impl_->scan(prefix, {}, [&](std::string_view suffix, std::string_view) {
    if (ids.size() == limit || suffix >= end) {
      return false;
    }
    ids.emplace_back(suffix.substr(std::min<std::size_t>(8, suffix.size())));
    return true;
  });
  if (!scanned) {
    return std::unexpected(scanned.error());
  }
  return ids;
}

}  // namespace outrigger::journal
