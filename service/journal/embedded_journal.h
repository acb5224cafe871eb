#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "lib/runtime/error.h"
#include "service/journal/journal.h"

namespace rocksdb {
class Env;
}

namespace outrigger::journal {

struct EmbeddedSettings {
  std::filesystem::path folder;
  std::uint32_t partitions = 64;  ///< fixed when the store is made
  bool synchronous = true;        ///< false breaks the promise of commit(); for the test that would notice
  rocksdb::Env* env = nullptr;    ///< null: the real disk; outlives the journal
};

/// The default journal: one synchronous RocksDB write per commit, in a folder of this process alone. All partitions are this
/// process's from start() to stop(). Commands are not delivered: they follow from the states, and replies have no position.
/// Errors: as RecordStore::open().
[[nodiscard]] Result<std::unique_ptr<Journal>> open_embedded_journal(const EmbeddedSettings& settings);

}  // namespace outrigger::journal
