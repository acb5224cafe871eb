#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lib/kafka/group_metadata.h"
#include "lib/kafka/record.h"
#include "lib/runtime/error.h"

namespace outrigger::kafka {

struct ConsumerSettings {
  ClientSettings client;
  std::string group;
  std::string instance;  ///< group.instance.id: a restart within the session keeps the partitions
  std::chrono::milliseconds session_timeout{10'000};
  std::chrono::milliseconds max_poll_interval{120'000};  ///< longer than any callback may take
  bool read_committed = true;
  bool partition_eof = false;                     ///< poll() reports EndOfPartition
  std::size_t queue_bytes = 8U * 1024 * 1024;     ///< fetched ahead, all partitions together
  std::chrono::milliseconds stall_after{15'000};  ///< of silence, before a partition's end is asked for
};

/// Called from within poll() and close(), on their thread.
struct RebalanceCallbacks {
  /// The consumer has these partitions from now on; fetching is paused until seek() of each.
  std::function<void(const GroupMetadata&, std::vector<TopicPartition>)> assigned;
  /// Returns when nothing of this process will be written for them any more. `lost`: they may be another's already.
  std::function<void(std::vector<TopicPartition>, bool lost)> revoked;
};

/// Nothing more to read now; `next` is behind the last record or marker.
struct EndOfPartition {
  TopicPartition partition;
  std::int64_t next = 0;
};
/// What went wrong, for health and log; the consumer goes on unless it is fatal.
struct ConsumerError {
  std::string message;
  bool is_fatal = false;
  bool is_instance_fenced = false;  ///< another client has this static instance id now: the group says so
  bool is_out_of_range = false;     ///< a position is before the log's start or beyond its end
  bool is_restarted = false;        ///< it was stuck and is a new client now: revoked (as lost) was called, assigned will be
  std::optional<TopicPartition> partition{};
};
using Polled = std::variant<std::monostate, ReceivedRecord, EndOfPartition, ConsumerError>;

/// A consumer that commits nothing by itself. Either subscribe() or assign().
///
/// As a member of a group it minds itself: a partition that is silent although there is more to read is read again from where it
/// stands, and when that does not help, when commits get no answer or the group gives no assignment, the client is made anew.
///
/// poll(), seek() and close() belong to one thread; committed() is thread-safe.
class Consumer final {
 public:
  /// Does not connect: errors are of the settings (kInvalidArgument).
  [[nodiscard]] static Result<std::unique_ptr<Consumer>> create(const ConsumerSettings& settings);
  /// Closes.
  ~Consumer();

  /// Joins the group; assignments are by range, so that topics with equal partition counts are assigned alike.
  [[nodiscard]] Result<void> subscribe(const std::vector<std::string>& topics, RebalanceCallbacks callbacks);
  /// Reads from the positions, without a group.
  [[nodiscard]] Result<void> assign(std::span<const Position> positions);

  [[nodiscard]] Polled poll(std::chrono::milliseconds timeout);

  /// Begins to read the partition at `position.next`; what was fetched before is dropped. Errors: kUnavailable.
  [[nodiscard]] Result<void> seek(const Position& position);
  void pause(const TopicPartition& partition);

  /// The group's committed position of each partition, in order; nothing where none was committed. Waits until no transaction
  /// is pending on them (KIP-447, require-stable). Errors: kDeadlineExceeded, kUnavailable.
  [[nodiscard]] Result<std::vector<std::optional<std::int64_t>>> committed(std::span<const TopicPartition> partitions,
                                                                           std::chrono::milliseconds timeout);

  /// Commits outside of a transaction. Errors: kAborted (a newer generation has the partitions), kDeadlineExceeded (no
  /// answer: the next poll() makes the client anew, and reading begins again where the committed positions say), kUnavailable.
  [[nodiscard]] Result<void> commit(std::span<const Position> positions);

  /// Gives the partitions back (revoked is called) and leaves, unless it is a static member. Idempotent.
  void close();

 private:
  class Impl;
  explicit Consumer(std::unique_ptr<Impl> impl);
  static GroupMetadata capture_metadata(void* handle);
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::kafka
