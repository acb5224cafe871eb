#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "lib/runtime/error.h"
#include "service/journal/journal.h"

namespace outrigger::journal {

struct EmbeddedSettings {
  std::filesystem::path folder;
  std::uint32_t partitions = 64;  ///< fixed when the store is made
};

/// The default journal: one synchronous RocksDB write per commit, in a folder of this process alone. All partitions are this
/// process's from start() to stop(). Commands are not delivered: they follow from the states, and replies have no position.
/// Errors: as RecordStore::open().
[[nodiscard]] Result<std::unique_ptr<Journal>> open_embedded_journal(const EmbeddedSettings& settings);

}  // namespace outrigger::journal
