#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/kafka/admin.h"
#include "lib/runtime/error.h"

namespace outrigger::journal {

/// The names of a set of topics. A set ("g1") fixes the partition count; growing means a new set while the old one drains.
struct TopicNames {
  std::string inbox;         ///< "saga.inbox.g1": replies, by the saga's partition
  std::string state;         ///< "saga.state.g1": compacted, what sagas are
  std::string history;       ///< "saga.history"
  std::string dead_letters;  ///< "saga.dlq"

  [[nodiscard]] static TopicNames of(std::string_view generation);
};

struct TopicSettings {
  std::string generation = "g1";
  std::uint32_t partitions = 12;
  std::vector<std::string> command_topics;  ///< such as "cmd.inventory"; at least as many partitions as the inbox
};

/// The topics as they should be, for a cluster of that many brokers: three copies of which two must be in sync, where there are
/// three brokers; else one copy each. Pure.
[[nodiscard]] std::vector<kafka::TopicSpec> declare_topics(const TopicSettings& settings, int brokers);

/// Refuses what would lose sagas: a missing topic, another partition count, a state topic that deletes by age (it would empty
/// itself of sagas that wait), unclean leader election, a minimum of one copy in sync where there are three.
/// A topic that is missing is asked for again during `patience`: brokers learn of new topics one by one.
/// Errors: kFailedPrecondition with topic, what is wrong and the command that mends it; kUnavailable.
[[nodiscard]] Result<void> check_topics(const kafka::Admin& admin, const TopicSettings& settings, std::chrono::milliseconds patience);

/// The rule that check_topics() applies to one topic. Pure; nothing found is a topic that is missing.
[[nodiscard]] Result<void> check_topic(const kafka::TopicSpec& wanted, const std::optional<kafka::TopicDescription>& found);

}  // namespace outrigger::journal
