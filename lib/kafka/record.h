#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outrigger::kafka {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// What is sent. The partition is always explicit: clients of other languages hash keys otherwise than librdkafka does.
struct OutgoingRecord {
  std::string topic;
  std::int32_t partition = 0;
  std::string key;
  std::optional<std::string> value;  ///< nothing: a tombstone
  Headers headers;
};

/// What is received.
struct ReceivedRecord {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string key;
  std::optional<std::string> value;
  Headers headers;

  /// The last header of that name.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  /// "topic/partition@offset".
  [[nodiscard]] std::string position() const;
};

struct TopicPartition {
  std::string topic;
  std::int32_t partition = 0;

  auto operator<=>(const TopicPartition&) const = default;
};

/// A partition and the offset of the next record to read.
struct Position {
  TopicPartition partition;
  std::int64_t next = 0;
};

/// What every client needs to know.
struct ClientSettings {
  std::string bootstrap;  ///< "host:port,…"
  std::string client_id = "outrigger";
  std::map<std::string, std::string> extra;  ///< further librdkafka properties; they win
};

}  // namespace outrigger::kafka
