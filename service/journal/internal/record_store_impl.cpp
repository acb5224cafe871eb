#include "service/journal/internal/record_store_impl.h"

#include <algorithm>
#include <format>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include "service/journal/internal/log_check.h"
#include "service/journal/internal/store_keys.h"

namespace outrigger::journal {
namespace {

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

rocksdb::Options make_options(rocksdb::Env* env) {
  rocksdb::Options options;
  if (env != nullptr) {
    options.env = env;
  }
  options.create_if_missing = true;
  options.paranoid_checks = true;
  // A record torn at the very end was never acknowledged. Anything damaged before the end was, so opening fails then.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  // Small: a process that keeps a few thousand sagas should not hold tens of megabytes for it.
  options.write_buffer_size = std::size_t{8} << 20U;
  options.max_write_buffer_number = 2;
  options.max_total_wal_size = std::size_t{32} << 20U;
  options.max_open_files = 128;
  options.max_background_jobs = 2;
  options.keep_log_file_num = 2;
  options.max_log_file_size = std::size_t{1} << 20U;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(std::size_t{8} << 20U);
  table.cache_index_and_filter_blocks = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const auto compressions = rocksdb::GetSupportedCompressions();
  options.compression = std::ranges::contains(compressions, rocksdb::kLZ4Compression) ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
  return options;
}

/// RocksDB keeps a write-ahead log in every store, also after a clean end, but does not miss the newest one when it is gone.
bool has_lost_its_log(const std::filesystem::path& folder) {
  std::error_code problem;
  if (!std::filesystem::exists(folder / "CURRENT", problem)) {
    return false;
  }
  const auto is_log = [](const std::filesystem::directory_entry& entry) {
    const auto stem = entry.path().stem().string();
    return entry.path().extension() == ".log" && std::ranges::all_of(stem, [](char c) { return c >= '0' && c <= '9'; });
  };
  return std::ranges::none_of(std::filesystem::directory_iterator(folder, problem), is_log);
}

}  // namespace

std::unexpected<Error> store_error(const rocksdb::Status& status, const std::filesystem::path& folder) {
  const auto text = status.ToString();
  const auto says = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  if (status.IsCorruption()) {
    return fail(ErrorCode::kDataLoss, std::format("the store is damaged ({}): keep a copy of the folder and restore it from a backup", text),
                folder.string());
  }
  if (status.IsNoSpace() || says("No space left") || says("File too large") || says("Disk quota")) {
    return fail(ErrorCode::kResourceExhausted, std::format("the disk is full or its quota reached ({}): free some space", text), folder.string());
  }
  if (status.IsIOError() && (says("lock hold by current process") || says("While lock file") || says("lock "))) {
    return fail(ErrorCode::kFailedPrecondition, "the store is open in another process: stop it, or use another --data-dir", folder.string());
  }
  if (says("Permission denied") || says("Read-only file system")) {
    return fail(ErrorCode::kPermissionDenied, std::format("the store cannot be written ({}): check the folder's owner and mode", text),
                folder.string());
  }
  if (status.IsNotSupported() || status.IsInvalidArgument()) {
    return fail(ErrorCode::kFailedPrecondition, std::format("the store cannot be read by this release ({})", text), folder.string());
  }
  return fail(ErrorCode::kUnavailable, std::format("the store failed: {}", text), folder.string());
}

std::unexpected<Error> RecordStore::Impl::damaged(std::string_view what) const {
  auto error = fail(ErrorCode::kDataLoss, std::format("the store is damaged ({}): keep a copy of the folder and restore it from a backup", what),
                    settings_.folder.string());
  const std::lock_guard lock(health_mutex_);
  damage_ = error.error();
  return error;
}

std::unexpected<Error> RecordStore::Impl::read_error(const rocksdb::Status& status) const {
  return status.IsCorruption() ? damaged(status.ToString()) : store_error(status, settings_.folder);
}

std::unexpected<Error> RecordStore::Impl::closed() const {
  const std::lock_guard lock(health_mutex_);
  return fail(ErrorCode::kUnavailable, std::format("the store is closed after a failed write: {}", failure_ ? failure_->message : "unknown"),
              settings_.folder.string());
}

std::unexpected<Error> RecordStore::Impl::failed(std::unexpected<Error> error) {
  const std::lock_guard lock(health_mutex_);
  failure_ = error.error();
  return error;
}

Result<void> RecordStore::Impl::health() const {
  const std::lock_guard lock(health_mutex_);
  if (damage_ || failure_) {
    return std::unexpected(damage_ ? *damage_ : *failure_);
  }
  return {};
}

bool RecordStore::Impl::can_write() const {
  const std::lock_guard lock(health_mutex_);
  return db_ != nullptr && !failure_;
}

Result<void> RecordStore::Impl::open() {
  std::error_code problem;
  std::filesystem::create_directories(settings_.folder, problem);
  if (problem) {
    return fail(problem == std::errc::permission_denied ? ErrorCode::kPermissionDenied : ErrorCode::kUnavailable,
                std::format("the store's folder cannot be made: {}", problem.message()), settings_.folder.string());
  }
  if (has_lost_its_log(settings_.folder)) {
    return damaged("its write-ahead log NUMBER.log is missing");
  }
  if (const auto damage = find_log_damage(settings_.folder)) {
    return damaged(std::format("{}: the record at byte {} cannot be read, and acknowledged ones follow it at byte {}",
                               damage->file.filename().string(), damage->offset, damage->readable_from));
  }
  rocksdb::DB* db = nullptr;
  const auto status = rocksdb::DB::Open(make_options(settings_.env), settings_.folder.string(), &db);
  if (!status.ok()) {
    return store_error(status, settings_.folder);
  }
  db_.reset(db);
  auto checked = check_meta();
  if (!checked) {
    db_.reset();
  }
  return checked;
}

/// The partition count decides where every key lives, so it is written once and never changes.
Result<void> RecordStore::Impl::check_meta() {
  std::string meta;
  const auto status = db_->Get({}, slice(keys::kMeta), &meta);
  const auto wanted = keys::big_endian(kStoreFormat) + keys::big_endian(settings_.partitions);
  if (status.IsNotFound()) {
    const std::unique_ptr<rocksdb::Iterator> any(db_->NewIterator({}));
    any->SeekToFirst();
    if (any->Valid()) {
      return fail(ErrorCode::kFailedPrecondition, "the folder holds a RocksDB that is not ours: use another --data-dir", settings_.folder.string());
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    if (const auto written = db_->Put(options, slice(keys::kMeta), wanted); !written.ok()) {
      return store_error(written, settings_.folder);
    }
    return {};
  }
  if (!status.ok()) {
    return store_error(status, settings_.folder);
  }
  if (meta.size() != wanted.size()) {
    return damaged("its format cannot be read");
  }
  if (const auto format = keys::from_big_endian(meta); format != kStoreFormat) {
    return fail(ErrorCode::kFailedPrecondition,
                std::format("the store has format {}, this release has {}: run the release that wrote it", format, kStoreFormat),
                settings_.folder.string());
  }
  if (const auto partitions = keys::from_big_endian(std::string_view(meta).substr(8)); partitions != settings_.partitions) {
    return fail(ErrorCode::kFailedPrecondition,
                std::format("the store was made with {} partitions and cannot have {}: set {} again, or use a new --data-dir", partitions,
                            settings_.partitions, partitions),
                settings_.folder.string());
  }
  return {};
}

Result<std::optional<keys::SagaHead>> RecordStore::Impl::stored_head(const saga::SagaState& state) const {
  if (const auto recent = recent_.find(state.id)) {
    return keys::SagaHead{.status = recent->status, .created_at = recent->created_at, .updated_at = recent->updated_at};
  }
  std::string old;
  const auto status = db_->Get({}, keys::saga(state.partition, state.id), &old);
  if (status.IsNotFound()) {
    return std::nullopt;
  }
  if (!status.ok()) {
    return read_error(status);
  }
  const auto head = keys::decode_head(old);
  if (!head) {
    return damaged(std::format("the head of saga {}", state.id));
  }
  return head;
}

/// Only index entries that change are written.
Result<void> RecordStore::Impl::write_state(const saga::SagaState& state, rocksdb::WriteBatch& write) const {
  const auto stored = stored_head(state);
  if (!stored) {
    return std::unexpected(stored.error());
  }
  const auto& head = *stored;
  const auto place = keys::newest_first(state.created_at, state.id);
  write.Put(keys::saga(state.partition, state.id),
            keys::encode_head({.status = state.status, .created_at = state.created_at, .updated_at = state.updated_at}) + saga::encode(state));
  if (!head && !state.business_key.empty()) {
    write.Put(keys::business(state.business_key, place), state.definition);
  }
  if (!head) {
    for (const auto& term : state.search_terms) {
      write.Put(keys::term(term, place), state.definition);
    }
  }
  if (!head || head->status != state.status) {
    write.Put(keys::listed(state.status, place), state.definition);
  }
  if (head && head->status != state.status) {
    write.Delete(keys::listed(head->status, keys::newest_first(head->created_at, state.id)));
  }
  const bool was_finished = head && saga::is_finished(head->status);
  if (was_finished && (!state.is_finished() || head->updated_at != state.updated_at)) {
    write.Delete(keys::finished(state.partition, head->updated_at, state.id));
  }
  if (state.is_finished()) {
    write.Put(keys::finished(state.partition, state.updated_at, state.id), {});
  }
  if (state.is_finished() && !was_finished) {
    write.Delete(keys::unfinished(state.partition, state.id));
  } else if (!state.is_finished() && (!head || was_finished)) {
    write.Put(keys::unfinished(state.partition, state.id), {});
  }
  return {};
}

Result<void> RecordStore::Impl::write_removal(const Removal& removal, rocksdb::WriteBatch& write) const {
  const auto key = keys::saga(removal.partition, removal.saga_id);
  write.Delete(keys::key_record(removal.partition, removal.definition, removal.idempotency_key));
  std::string old;
  const auto status = db_->Get({}, key, &old);
  if (status.IsNotFound()) {
    return {};
  }
  if (!status.ok()) {
    return read_error(status);
  }
  const auto head = keys::decode_head(old);
  const auto state = head ? saga::decode(std::string_view(old).substr(keys::kHeadBytes)) : Result<saga::SagaState>(damaged(removal.saga_id));
  if (!state) {
    return std::unexpected(state.error());
  }
  const auto place = keys::newest_first(head->created_at, state->id);
  write.Delete(key);
  write.Delete(keys::listed(head->status, place));
  write.Delete(keys::finished(removal.partition, head->updated_at, state->id));
  write.Delete(keys::unfinished(removal.partition, state->id));
  write.Delete(keys::business(state->business_key, place));
  for (const auto& term : state->search_terms) {
    write.Delete(keys::term(term, place));
  }
  return {};
}

Result<void> RecordStore::Impl::apply(const Batch& batch, std::span<const std::pair<std::string, std::string>> notes) {
  const std::shared_lock lock(mutex_);
  if (!can_write()) {
    return closed();
  }
  rocksdb::WriteBatch write;
  for (const auto& state : batch.states) {
    if (auto written = write_state(*state, write); !written) {
      return failed(std::unexpected(written.error()));
    }
  }
  for (const auto& removal : batch.removals) {
    if (auto written = write_removal(removal, write); !written) {
      return failed(std::unexpected(written.error()));
    }
  }
  for (const auto& record : batch.keys) {
    write.Put(keys::key_record(record.partition, record.definition, record.key), encode(record));
  }
  for (const auto& record : batch.definitions) {
    write.Put(keys::definition(record.partition, record.hash), encode(record));
  }
  for (const auto& position : batch.positions) {
    if (position.next == 0) {
      continue;  // as position() says of what was never written: the embedded journal has no input to count
    }
    write.Put(keys::position(position.partition), keys::big_endian(static_cast<std::uint64_t>(position.next)));
  }
  for (const auto& [name, value] : notes) {
    write.Put(keys::note(name), value);
  }
  rocksdb::WriteOptions options;
  options.sync = settings_.synchronous;
  if (const auto status = db_->Write(options, &write); !status.ok()) {
    return failed(store_error(status, settings_.folder));
  }
  for (const auto& state : batch.states) {
    recent_.wrote(state);
  }
  for (const auto& removal : batch.removals) {
    recent_.forget(removal.saga_id);
  }
  return {};
}

Result<void> RecordStore::Impl::recover() {
  const std::unique_lock lock(mutex_);
  if (can_write()) {
    return {};
  }
  db_.reset();
  recent_.clear();
  if (auto opened = open(); !opened) {
    return failed(std::unexpected(opened.error()));
  }
  const std::lock_guard health_lock(health_mutex_);
  failure_.reset();
  return {};
}

Result<void> RecordStore::Impl::wipe(std::uint32_t partition) {
  while (true) {
    Batch batch;
    const auto scanned = scan(keys::sagas_of(partition), {}, [&](std::string_view id, std::string_view) {
      batch.removals.push_back({.partition = partition, .saga_id = std::string(id), .definition = {}, .idempotency_key = {}});
      return batch.removals.size() < 500;
    });
    if (!scanned) {
      return scanned;
    }
    if (batch.removals.empty()) {
      break;
    }
    if (auto applied = apply(batch, {}); !applied) {
      return applied;
    }
  }
  const std::shared_lock lock(mutex_);
  if (!can_write()) {
    return closed();
  }
  rocksdb::WriteBatch write;
  for (const auto& prefix : {keys::key_records_of(partition), keys::definitions_of(partition)}) {
    auto end = prefix;
    end.append(300, '\xff');
    write.DeleteRange(prefix, end);
  }
  write.Delete(keys::position(partition));
  rocksdb::WriteOptions options;
  options.sync = settings_.synchronous;
  if (const auto status = db_->Write(options, &write); !status.ok()) {
    return failed(store_error(status, settings_.folder));
  }
  return {};
}

}  // namespace outrigger::journal
