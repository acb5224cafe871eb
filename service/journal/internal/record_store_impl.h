#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "service/journal/internal/recent_states.h"
#include "service/journal/internal/store_keys.h"
#include "service/journal/record_store.h"

namespace outrigger::journal {

inline constexpr std::uint32_t kStoreFormat = 1;
/// Some 3 KiB each.
inline constexpr std::size_t kRecentStates = 4096;

/// What RocksDB reports, in the words of whoever must act on it.
[[nodiscard]] std::unexpected<Error> store_error(const rocksdb::Status& status, const std::filesystem::path& folder);

class RecordStore::Impl final {
 public:
  explicit Impl(Settings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] Result<void> open();
  [[nodiscard]] Result<void> apply(const Batch& batch, std::span<const std::pair<std::string, std::string>> notes);
  [[nodiscard]] Result<void> recover();
  [[nodiscard]] Result<void> wipe(std::uint32_t partition);
  [[nodiscard]] Result<void> health() const;
  /// Damage that was seen: health() says it until the process ends, whatever else works.
  [[nodiscard]] std::unexpected<Error> damaged(std::string_view what) const;
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const RecentStates& recent() const { return recent_; }

  /// The value of a key; nothing when there is none.
  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const;

  /// Calls `visit(suffix, value)` for the keys with `prefix` from `prefix + from` on, in order, until it returns false.
  /// Holds the store open meanwhile, so `visit` must not call the store.
  [[nodiscard]] Result<void> scan(std::string_view prefix, std::string_view from,
                                  const std::function<bool(std::string_view suffix, std::string_view value)>& visit) const;

  /// Newest first over the given prefixes at once: calls `visit` with the merged suffixes until it returns false.
  [[nodiscard]] Result<void> merge(const std::vector<std::string>& prefixes, std::string_view after,
                                   const std::function<bool(std::string_view suffix, std::string_view value)>& visit) const;

 private:
  [[nodiscard]] bool can_write() const;
  [[nodiscard]] Result<void> check_meta();
  /// What the index entries of a stored saga depend on; nothing when there is no such saga.
  [[nodiscard]] Result<std::optional<keys::SagaHead>> stored_head(const saga::SagaState& state) const;
  [[nodiscard]] Result<void> write_state(const saga::SagaState& state, rocksdb::WriteBatch& write) const;
  [[nodiscard]] Result<void> write_removal(const Removal& removal, rocksdb::WriteBatch& write) const;
  [[nodiscard]] std::unexpected<Error> read_error(const rocksdb::Status& status) const;
  [[nodiscard]] std::unexpected<Error> failed(std::unexpected<Error> error);
  [[nodiscard]] std::unexpected<Error> closed() const;

  const Settings settings_;
  RecentStates recent_{kRecentStates};
  mutable std::shared_mutex mutex_;  ///< shared: use of db_; exclusive: closing and opening it
  std::unique_ptr<rocksdb::DB> db_;
  mutable std::mutex health_mutex_;
  mutable std::optional<Error> damage_;
  std::optional<Error> failure_;  ///< why no write is possible until recover()
};

}  // namespace outrigger::journal
