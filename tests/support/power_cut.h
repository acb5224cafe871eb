#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace rocksdb {
class Env;
}

namespace outrigger::testing {

/// A disk whose power can be cut, for RocksDB (an Env) and SQLite (a VFS) alike: what was written and not synchronised is lost.
///
/// Files lie on the real disk; for each, what changed since its last sync is remembered and taken back after the cut. A random
/// beginning of it may stay, the last write torn, as disks do. A file that was made without a sync of its folder goes as a whole.
/// Renames and deletions last at once. Thread-safe; one operation at a time.
class PowerCut final {
 public:
  PowerCut();
  ~PowerCut();
  PowerCut(const PowerCut&) = delete;
  PowerCut& operator=(const PowerCut&) = delete;

  /// The power goes at the n-th operation (write, sync, making, renaming, deleting) from now: it and all after it fail.
  void cut_after(std::uint64_t operations);
  [[nodiscard]] bool is_cut() const;
  /// Once every user of the disk has closed: loses what was not synchronised. The power is back, for good until cut_after().
  /// Returns how many bytes were lost.
  std::uint64_t restart(std::mt19937_64& dice);

  [[nodiscard]] rocksdb::Env* env() { return env_.get(); }
  [[nodiscard]] const std::string& vfs() const { return vfs_name_; }

  /// For the two adapters: one operation under the disk's lock. False: the power is gone, nothing was done.
  template <class Operation>
  [[nodiscard]] bool operate(Operation operation) {
    const std::lock_guard lock(mutex_);
    if (left_ == 0) {
      return false;
    }
    left_ -= left_ == kNever ? 0 : 1;
    if (left_ == 0) {
      return false;
    }
    operation();
    return true;
  }
  /// Within operate(): before `bytes` are written at `offset`, or the file is cut there (no bytes).
  void will_change(const std::string& path, std::uint64_t offset, std::uint64_t bytes);
  void made(const std::string& path) { unnamed_.insert(path); }
  void synced(const std::string& path) { changes_.erase(path); }
  void named(const std::string& path) { unnamed_.erase(path); }
  void folder_synced(const std::string& folder);
  void renamed(const std::string& from, const std::string& to);
  void deleted(const std::string& path);

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  struct Change {
    std::uint64_t offset = 0;
    std::string before;  ///< what was there
    std::uint64_t size_before = 0;
    std::uint64_t bytes = 0;
  };
  static void take_back(const std::string& path, const Change& change);

  mutable std::mutex mutex_;
  std::uint64_t left_ = kNever;
  std::map<std::string, std::vector<Change>> changes_;  ///< since the last sync, oldest first
  std::set<std::string> unnamed_;                       ///< made, and their folder not synchronised since
  std::unique_ptr<rocksdb::Env> env_;
  std::string vfs_name_;
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

/// Of the adapters: power_cut_rocksdb.cpp.
[[nodiscard]] std::unique_ptr<rocksdb::Env> make_power_cut_env(PowerCut& disk);

}  // namespace outrigger::testing
