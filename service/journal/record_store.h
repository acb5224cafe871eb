#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/journal/batch.h"
#include "service/journal/journal.h"

namespace rocksdb {
class Env;
}

namespace outrigger::journal {

/// The records of a journal's partitions with their indexes, in RocksDB: the whole of EmbeddedJournal's storage, and a local
/// cache for a journal that keeps the truth elsewhere.
///
/// Thread-safe; one writer per partition at a time. The folder is locked for this process.
class RecordStore final {
 public:
  struct Settings {
    std::filesystem::path folder;   ///< made when absent
    std::uint32_t partitions = 64;  ///< fixed when the store is made, checked on open
    bool synchronous = true;        ///< fsync of every apply(); a cache may do without
    rocksdb::Env* env = nullptr;    ///< null: the real disk; outlives the store
  };

  /// Errors: kFailedPrecondition (another process has it open, another partition count, a newer format), kDataLoss (damaged: what
  /// was found and what to do), kResourceExhausted (disk full), kPermissionDenied, kUnavailable (other input or output errors).
  [[nodiscard]] static Result<std::unique_ptr<RecordStore>> open(const Settings& settings);
  ~RecordStore();

  /// Writes a batch (all but its commands, history and dead letters) and notes, atomically.
  /// After an error the outcome is not known, and no apply() succeeds until recover() did.
  [[nodiscard]] Result<void> apply(const Batch& batch, std::span<const std::pair<std::string, std::string>> notes = {});
  /// Closes and opens the store, so that what it holds is what is on disk. Does nothing when no apply() has failed.
  [[nodiscard]] Result<void> recover();
  /// Forgets a partition: a cache that cannot be trusted.
  [[nodiscard]] Result<void> wipe(std::uint32_t partition);

  [[nodiscard]] Result<std::int64_t> position(std::uint32_t partition) const;  ///< 0 when never written
  [[nodiscard]] Result<std::optional<std::string>> note(std::string_view name) const;
  [[nodiscard]] Result<std::vector<DefinitionRecord>> definitions(std::uint32_t partition) const;
  [[nodiscard]] Result<void> each_unfinished(std::uint32_t partition, const std::function<void(const saga::SagaState&)>& visit) const;

  [[nodiscard]] Result<std::shared_ptr<const saga::SagaState>> load(std::string_view saga_id) const;
  [[nodiscard]] Result<std::optional<KeyRecord>> find_key(std::string_view definition, std::string_view key) const;
  [[nodiscard]] Result<ListPage> list(const ListQuery& query) const;
  [[nodiscard]] Result<std::vector<std::string>> finished_before(std::uint32_t partition, WallTime time, std::size_t limit) const;

  /// An error when writing fails or damage was seen. Never blocks.
  [[nodiscard]] Result<void> health() const;
  [[nodiscard]] std::uint32_t partitions() const;

 private:
  class Impl;
  explicit RecordStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::journal
