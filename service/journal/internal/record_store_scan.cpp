#include "service/journal/internal/record_store_impl.h"

namespace outrigger::journal {
namespace {

std::string_view view(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace

Result<std::optional<std::string>> RecordStore::Impl::get(std::string_view key) const {
  const std::shared_lock lock(mutex_);
  if (!db_) {
    return closed();
  }
  std::string value;
  const auto status = db_->Get({}, rocksdb::Slice(key.data(), key.size()), &value);
  if (status.IsNotFound()) {
    return std::nullopt;
  }
  if (!status.ok()) {
    return read_error(status);
  }
  return value;
}

Result<void> RecordStore::Impl::scan(std::string_view prefix, std::string_view from,
                                     const std::function<bool(std::string_view, std::string_view)>& visit) const {
  const std::shared_lock lock(mutex_);
  if (!db_) {
    return closed();
  }
  const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator({}));
  for (iterator->Seek(std::string(prefix).append(from)); iterator->Valid() && view(iterator->key()).starts_with(prefix); iterator->Next()) {
    if (!visit(view(iterator->key()).substr(prefix.size()), view(iterator->value()))) {
      break;
    }
  }
  if (!iterator->status().ok()) {
    return read_error(iterator->status());
  }
  return {};
}

Result<void> RecordStore::Impl::merge(const std::vector<std::string>& prefixes, std::string_view after,
                                      const std::function<bool(std::string_view, std::string_view)>& visit) const {
  const std::shared_lock lock(mutex_);
  if (!db_) {
    return closed();
  }
  rocksdb::ReadOptions options;
  const auto snapshot =
      std::shared_ptr<const rocksdb::Snapshot>(db_->GetSnapshot(), [this](const rocksdb::Snapshot* taken) { db_->ReleaseSnapshot(taken); });
  options.snapshot = snapshot.get();
  std::vector<std::unique_ptr<rocksdb::Iterator>> iterators;
  for (const auto& prefix : prefixes) {
    auto& iterator = iterators.emplace_back(db_->NewIterator(options));
    iterator->Seek(prefix + std::string(after));
    if (!after.empty() && iterator->Valid() && view(iterator->key()) == prefix + std::string(after)) {
      iterator->Next();
    }
  }
  const auto suffix = [&](std::size_t i) {
    const auto key = iterators[i]->Valid() ? view(iterators[i]->key()) : std::string_view();
    return key.starts_with(prefixes[i]) ? key.substr(prefixes[i].size()) : std::string_view();
  };
  while (true) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      if (!iterators[i]->status().ok()) {
        return read_error(iterators[i]->status());
      }
      if (!suffix(i).empty() && (!first || suffix(i) < suffix(*first))) {
        first = i;
      }
    }
    if (!first || !visit(suffix(*first), view(iterators[*first]->value()))) {
      return {};
    }
    iterators[*first]->Next();
  }
}

}  // namespace outrigger::journal
