#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/contracts/registry.h"
#include "lib/kafka/record.h"
#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "service/journal/journal.h"
#include "service/journal/kafka/topics.h"

namespace outrigger::journal {

struct KafkaSettings {
  kafka::ClientSettings client;
  TopicSettings topics;
  bool create_topics = false;                             ///< make what is missing, then check
  std::string instance = "outrigger-0";                   ///< static member of the group: one process each
  std::filesystem::path cache_folder;                     ///< of the local cache; safe to delete while stopped
  std::string contract_package;                           ///< namespace of the commands' schemas
  std::chrono::milliseconds transaction_timeout{10'000};  ///< how long a dead lane can hold readers up, and a commit can take
  std::chrono::milliseconds session_timeout{10'000};      ///< after it a silent member's partitions go to others
  /// The broker's scan for timed-out transactions runs every 10 s: a restore that waits for one must wait longer than both.
  std::chrono::milliseconds restore_stall{25'000};
  /// Called once when the process must end: another one uses its instance name (exit code 78). From a thread of the journal.
  std::function<void(int exit_code, const std::string& why)> on_fatal;
};

/// Connects, makes (if told to) and checks the topics, opens the cache. `contracts` holds the protocol's schemas and the commands';
/// `registry` outlives the journal.
/// Errors: kFailedPrecondition (topics: what to do), kDeadlineExceeded and kUnavailable (no broker), kInvalidArgument (settings),
/// and RecordStore::open()'s.
[[nodiscard]] Result<std::unique_ptr<Journal>> open_kafka_journal(const KafkaSettings& settings, contracts::SchemaRegistry contracts,
                                                                  telemetry::Registry& registry);

}  // namespace outrigger::journal
