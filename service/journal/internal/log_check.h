#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace outrigger::journal {

/// Where a RocksDB write-ahead log is damaged before its end: an unreadable record that readable ones follow.
///
/// RocksDB takes a record whose length is wrong, or that is all zeros, for the torn end of the log when it lies in the last block,
/// and drops what comes after it in silence. What follows was acknowledged, so opening must fail instead. A log whose last record
/// alone is unreadable is torn, not damaged. Format: RocksDB wiki, "Write Ahead Log File Format".
struct LogDamage {
  std::filesystem::path file;
  std::uint64_t offset = 0;         ///< of the unreadable record
  std::uint64_t readable_from = 0;  ///< of the first readable record after it
};

/// The first damage in the logs (NUMBER.log) of a store's folder; nothing: none. A file that cannot be read is left to RocksDB.
[[nodiscard]] std::optional<LogDamage> find_log_damage(const std::filesystem::path& folder);

}  // namespace outrigger::journal
