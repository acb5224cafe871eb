#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "lib/kafka/record.h"
#include "lib/runtime/clock.h"

namespace outrigger::kafka::internal {

/// When a silent consumer is stuck: librdkafka can go on for ever waiting for a broker that is gone (its issue 4970), and says nothing.
///
/// Silence alone proves nothing, so it names a partition whose end should be asked for; what the answer means is decided here, too.
/// No I/O, no clock. Not thread-safe.
class StallWatch final {
 public:
  struct Limits {
    std::chrono::milliseconds silence{15'000};  ///< of a partition, before its end is asked for
    std::chrono::milliseconds joining{60'000};  ///< without an assignment, and without an answer about a partition
  };
  enum class Remedy : std::uint8_t {
    kNone,
    kReadAgain,  ///< begin to read the partition again, where it stands
    kStartAnew,  ///< that did not help, or nobody answers: a new client
  };

  explicit StallWatch(Limits limits) : limits_(limits) {}

  void joining(MonotonicTime now);
  void joined() { joining_since_.reset(); }
  /// Reading of it begins at `next`.
  void begin(const Position& position, MonotonicTime now);
  /// A record came or the end was reported; `position.next` is behind it. Partitions that were not begun are ignored.
  void progress(const Position& position, MonotonicTime now);
  void pause(const TopicPartition& partition) { partitions_.erase(partition); }

  /// True: the group has let it wait for an assignment for too long.
  [[nodiscard]] bool joins_too_long(MonotonicTime now) const;
  /// The partition that has been silent for the longest, if that is too long: ask for its end, then call answered().
  [[nodiscard]] std::optional<Position> suspect(MonotonicTime now) const;
  /// `end`: what a reader of committed records can reach; nothing: no answer.
  [[nodiscard]] Remedy answered(const TopicPartition& partition, std::optional<std::int64_t> end, MonotonicTime now);

 private:
  struct Reading {
    std::int64_t next = 0;
    MonotonicTime silent_since;                       ///< moves on when the silence is explained
    std::optional<MonotonicTime> unanswered_since{};  ///< of the questions
    bool was_begun_again = false;
  };

  Limits limits_;
  std::optional<MonotonicTime> joining_since_;
  std::map<TopicPartition, Reading> partitions_;
};

}  // namespace outrigger::kafka::internal
