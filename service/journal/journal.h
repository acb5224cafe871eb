#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/participant/message.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"
#include "service/journal/batch.h"
#include "service/saga/state.h"

/// The port between the saga engine and what makes it durable. Implementations: EmbeddedJournal (RocksDB), KafkaJournal, and
/// in the tests SimulatedJournal; tests/conformance/journal_conformance.h says what all must hold.
namespace outrigger::journal {

/// The right to write one partition, given by on_assigned(). `epoch` names the assignment (Kafka: the group metadata that was
/// captured in the assign callback together with the partitions); after a revocation it is dead for good.
struct Assignment {
  std::uint32_t partition = 0;
  std::uint64_t epoch = 0;
};

/// One record of a partition's durable input (Kafka: the inbox topic). Journals without one never deliver any.
struct InboxRecord {
  std::uint32_t partition = 0;
  std::uint64_t session = 0;                          ///< of the restore() that this delivery follows; the lane drops records of earlier ones
  std::int64_t next_position = 0;                     ///< the partition's position once this record is processed
  std::variant<participant::Reply, DeadLetter> body;  ///< what cannot be decoded is a dead letter, committed like a reply
};

/// What a journal tells the engine. Calls come from one thread of the journal (or from start() and stop()), never concurrently.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Returns at once; the lanes then restore. May be empty: the instance is a member that owns nothing now.
  virtual void on_assigned(std::span<const Assignment> assignments) = 0;
  /// Returns only after every lane has committed or discarded what it was writing there and will write no more.
  virtual void on_revoked(std::span<const std::uint32_t> partitions) = 0;
  /// False: no room. The journal pauses the partition and offers the same record again later.
  [[nodiscard]] virtual bool on_input(InboxRecord record) = 0;
};

/// What restore() found: exactly what was committed.
struct Restored {
  Assignment assignment;
  std::uint64_t session = 0;  ///< new with every restore of the partition
  std::int64_t position = 0;  ///< input is delivered from here on
  std::vector<DefinitionRecord> definitions;
};

/// One lane's writing side. Used by one thread.
class LaneJournal {
 public:
  virtual ~LaneJournal() = default;

  /// Reads partitions to the end of what was committed, calls `unfinished` for each saga that is not finished, and begins
  /// (or begins again, after a failed commit) the delivery of input at the committed position. Blocks; a restore that makes no
  /// progress fails and says why.
  /// Errors: kAborted (revoked meanwhile), kDataLoss (damaged), kUnavailable, kDeadlineExceeded (try again).
  [[nodiscard]] virtual Result<std::vector<Restored>> restore(std::span<const Assignment> assignments,
                                                              const std::function<void(const saga::SagaState&)>& unfinished) = 0;

  /// All or nothing, durable when it returns. Ends the process when check_batch() finds a fault.
  /// Errors: kAborted: fenced, nothing was written, the partitions are another's now. Any other: **the outcome is not known**;
  /// the caller discards its state and calls restore(), which tells.
  [[nodiscard]] virtual Result<void> commit(const Batch& batch) = 0;
};

struct ListQuery {
  std::optional<saga::SagaStatus> status = {};
  std::string definition = {};                  ///< empty: all
  std::string business_key = {};                ///< empty: all; else this one only
  std::string search_term = {};                 ///< empty: all; else those that have it
  std::optional<WallTime> created_before = {};  ///< only those created before it
  std::optional<WallTime> created_since = {};   ///< only those created then or after
  std::string cursor = {};                      ///< `next_cursor` of the page before, or empty
  std::size_t limit = 50;
};

struct ListPage {
  std::vector<std::shared_ptr<const saga::SagaState>> sagas;  ///< newest first
  std::string next_cursor;                                    ///< empty: that was all
};

/// A journal. start() once, then stop() once. The reading functions are thread-safe and see what is committed in the
/// partitions that this process owns and has restored.
class Journal {
 public:
  virtual ~Journal() = default;

  [[nodiscard]] virtual std::uint32_t partitions() const = 0;
  /// True: commit() also sends the batch's commands (Kafka). False: the lane hands them to its CommandTransport after it.
  [[nodiscard]] virtual bool delivers_commands() const = 0;

  /// Begins to take part: on_assigned() follows, from here or later. `listener` outlives stop().
  [[nodiscard]] virtual Result<void> start(Listener& listener) = 0;
  /// Gives every partition back (on_revoked() for what is owned), then makes no further call. Idempotent.
  virtual void stop() = 0;

  /// One for each lane, before start(). Errors: kUnavailable.
  [[nodiscard]] virtual Result<std::unique_ptr<LaneJournal>> open_lane(unsigned lane) = 0;

  /// Nothing: no such saga. Errors: kDataLoss, kUnavailable.
  [[nodiscard]] virtual Result<std::shared_ptr<const saga::SagaState>> load(std::string_view saga_id) const = 0;
  [[nodiscard]] virtual Result<std::optional<KeyRecord>> find_key(std::string_view definition, std::string_view key) const = 0;
  /// Errors: kInvalidArgument for a cursor that is none.
  [[nodiscard]] virtual Result<ListPage> list(const ListQuery& query) const = 0;
  /// Ids of at most `limit` finished sagas of a partition last changed before `time`, oldest first: whose retention has ended.
  [[nodiscard]] virtual Result<std::vector<std::string>> finished_before(std::uint32_t partition, WallTime time, std::size_t limit) const = 0;

  /// Not an error: can serve. What it says is shown by /readyz. Never blocks.
  [[nodiscard]] virtual Result<void> health() const = 0;
};

}  // namespace outrigger::journal
