#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/kafka/record.h"
#include "lib/runtime/error.h"

namespace outrigger::kafka {

struct TopicSpec {
  std::string name;
  std::int32_t partitions = 1;
  std::int32_t replication_factor = 1;
  std::map<std::string, std::string> config;
};

struct TopicDescription {
  std::string id;  ///< changes when a topic is removed and made again
  std::int32_t partitions = 0;
  std::int32_t replication_factor = 0;        ///< of the partition that has fewest
  std::map<std::string, std::string> config;  ///< as it holds, defaults included
};

/// A member of a consumer group.
struct GroupMember {
  std::string id;        ///< given by the broker, another one with every joining
  std::string instance;  ///< group.instance.id; empty: a dynamic member
};

/// First and next offset of a partition.
struct Watermarks {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// Topics and what the cluster says of them. Thread-safe.
class Admin final {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Admin>> create(const ClientSettings& settings);
  ~Admin();

  /// Errors of all: kUnavailable, kDeadlineExceeded.
  [[nodiscard]] Result<std::string> cluster_id(std::chrono::milliseconds timeout) const;
  [[nodiscard]] Result<int> broker_count(std::chrono::milliseconds timeout) const;

  /// A topic that exists already is left as it is. Brokers learn of new topics one by one: await() what was made. Errors also:
  /// kInvalidArgument.
  [[nodiscard]] Result<void> create_topics(const std::vector<TopicSpec>& topics, std::chrono::milliseconds timeout) const;

  /// Nothing: there is no such topic.
  [[nodiscard]] Result<std::optional<TopicDescription>> describe(const std::string& topic, std::chrono::milliseconds timeout) const;

  /// Asks again while there is no such topic, for `patience`. Nothing: there was none until then.
  [[nodiscard]] Result<std::optional<TopicDescription>> await(const std::string& topic, std::chrono::milliseconds patience,
                                                              std::chrono::milliseconds timeout) const;

  /// Empty: nobody, or no such group. Errors: kDeadlineExceeded, kUnavailable.
  [[nodiscard]] Result<std::vector<GroupMember>> group_members(const std::string& group, std::chrono::milliseconds timeout) const;

  /// The high watermark counts what is not committed yet (read_uncommitted): a restore that ended at the last stable offset
  /// would miss what an open transaction of its own predecessor is about to commit.
  [[nodiscard]] Result<Watermarks> watermarks(const TopicPartition& partition, std::chrono::milliseconds timeout) const;

 private:
  class Impl;
  explicit Admin(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::kafka
