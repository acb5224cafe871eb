#include "tests/support/power_cut.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <rocksdb/env.h>

#include "tests/support/power_cut_sqlite.h"

namespace outrigger::testing {

PowerCut::PowerCut() : env_(make_power_cut_env(*this)), vfs_(std::make_unique<Vfs>(*this)) { vfs_name_ = vfs_->name(); }
PowerCut::~PowerCut() = default;

void PowerCut::cut_after(std::uint64_t operations) {
  const std::lock_guard lock(mutex_);
  left_ = operations;
}

bool PowerCut::is_cut() const {
  const std::lock_guard lock(mutex_);
  return left_ == 0;
}

void PowerCut::will_change(const std::string& path, std::uint64_t offset, std::uint64_t bytes) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  Change change{.offset = offset, .before = {}, .size_before = missing ? 0 : size, .bytes = bytes};
  const auto end = bytes == 0 ? change.size_before : std::min(offset + bytes, change.size_before);
  if (offset < end) {
    change.before.resize(end - offset);
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(change.before.data(), static_cast<std::streamsize>(change.before.size()));
  }
  changes_[path].push_back(std::move(change));
}

void PowerCut::folder_synced(const std::string& folder) {
  std::erase_if(unnamed_, [&](const std::string& path) { return std::filesystem::path(path).parent_path() == folder; });
}

void PowerCut::renamed(const std::string& from, const std::string& to) {
  changes_.erase(to);
  unnamed_.erase(from);
  if (auto moved = changes_.extract(from)) {
    moved.key() = to;
    changes_.insert(std::move(moved));
  }
}

void PowerCut::deleted(const std::string& path) {
  changes_.erase(path);
  unnamed_.erase(path);
}

void PowerCut::take_back(const std::string& path, const Change& change) {
  if (!change.before.empty()) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(change.offset));
    file.write(change.before.data(), static_cast<std::streamsize>(change.before.size()));
  }
  std::error_code gone;
  std::filesystem::resize_file(path, change.size_before, gone);
}

std::uint64_t PowerCut::restart(std::mt19937_64& dice) {
  const std::lock_guard lock(mutex_);
  std::uint64_t lost = 0;
  for (auto& [path, changes] : changes_) {
    // In half of the files nothing stays that was not synchronised; in the others a beginning of it.
    const auto kept = dice() % 2 == 0 ? 0 : dice() % (changes.size() + 1);
    for (; changes.size() > kept; changes.pop_back()) {
      lost += changes.back().bytes;
      take_back(path, changes.back());
    }
    if (!changes.empty() && changes.back().bytes > 1 && changes.back().before.empty()) {
      const auto& torn = changes.back();
      std::error_code gone;
      std::filesystem::resize_file(path, torn.offset + dice() % torn.bytes, gone);
      ++lost;
    }
  }
  for (const auto& path : unnamed_) {
    std::error_code gone;
    std::filesystem::remove(path, gone);
  }
  changes_.clear();
  unnamed_.clear();
  left_ = kNever;
  return lost;
}

}  // namespace outrigger::testing
