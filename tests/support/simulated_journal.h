#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "service/journal/journal.h"

namespace outrigger::testing {

/// What becomes of one commit.
enum class CommitFate {
  kCommitted,
  kLost,     ///< an error, and nothing was written: as far as the writer knows, it may have been
  kUnknown,  ///< an error, though it was written
};

/// What outlives the processes that write it: records, positions, inputs and commands of the partitions. In memory, ordered, so that
/// the same calls always give the same answers. Thread-safe.
class SimulatedLog final {
 public:
  explicit SimulatedLog(std::uint32_t partitions) : partitions_(partitions) {}

  /// Appends to a partition's input, as a participant's reply that came over a broker.
  void append_input(participant::Reply reply);
  void append_undecodable_input(std::uint32_t partition, std::string value);
  /// Commands of committed batches since the last call, in order.
  [[nodiscard]] std::vector<participant::Command> take_commands();
  [[nodiscard]] std::size_t dead_letters() const;
  /// Bytes of every stored saga, by id.
  [[nodiscard]] std::map<std::string, std::string> states() const;

  /// What is durable, and going back to it: for a writer that says "committed" too early and crashes.
  struct Records {
    std::map<std::uint32_t, std::int64_t> positions;
    std::map<std::string, std::string> states;
    std::map<std::pair<std::string, std::string>, std::string> keys;
    std::map<std::pair<std::uint32_t, std::string>, std::string> definitions;
  };
  [[nodiscard]] Records records() const;
  void lose_what_came_after(const Records& records);

 private:
  friend class SimulatedJournal;
  struct Partition {
    std::uint64_t owner = 0;  ///< epoch of the newest assignment: the fence
    std::int64_t position = 0;
    std::vector<std::variant<participant::Reply, journal::DeadLetter>> input;
  };
  const std::uint32_t partitions_;
  mutable std::mutex mutex_;
  std::uint64_t last_epoch_ = 0;
  std::map<std::uint32_t, Partition> by_partition_;
  std::map<std::string, std::string> states_;
  std::map<std::pair<std::string, std::string>, std::string> keys_;
  std::map<std::pair<std::uint32_t, std::string>, std::string> definitions_;
  std::vector<participant::Command> commands_;
  std::vector<journal::DeadLetter> dead_letters_;
};

/// A journal over a SimulatedLog: deterministic, without threads. Each object is one process; a second one that starts takes all
/// partitions over and fences the first. Input is delivered by pump().
class SimulatedJournal final : public journal::Journal {
 public:
  using Fate = std::function<CommitFate()>;

  SimulatedJournal(SimulatedLog& log, bool delivers_commands, Fate fate = [] { return CommitFate::kCommitted; });
  ~SimulatedJournal() override;

  /// Delivers input that follows what was delivered; at most `limit` records. Returns how many.
  std::size_t pump(std::size_t limit = SIZE_MAX);
  /// The process ends without a word: nothing is given back, later calls fail.
  void crash() { crashed_ = true; }

  [[nodiscard]] std::uint32_t partitions() const override;
  [[nodiscard]] bool delivers_commands() const override { return delivers_commands_; }
  [[nodiscard]] Result<void> start(journal::Listener& listener) override;
  void stop() override;
  [[nodiscard]] Result<std::unique_ptr<journal::LaneJournal>> open_lane(unsigned lane) override;
  [[nodiscard]] Result<std::shared_ptr<const saga::SagaState>> load(std::string_view saga_id) const override;
  [[nodiscard]] Result<std::optional<journal::KeyRecord>> find_key(std::string_view definition, std::string_view key) const override;
  [[nodiscard]] Result<journal::ListPage> list(const journal::ListQuery& query) const override;
  [[nodiscard]] Result<std::vector<std::string>> finished_before(std::uint32_t partition, WallTime time, std::size_t limit) const override;
  [[nodiscard]] Result<void> health() const override { return {}; }

 private:
  class Lane;
  struct Delivery {
    std::uint64_t session = 0;
    std::int64_t next = 0;
  };
  [[nodiscard]] Result<void> write(const journal::Batch& batch);

  SimulatedLog& log_;
  const bool delivers_commands_;
  const Fate fate_;
  bool crashed_ = false;
  journal::Listener* listener_ = nullptr;
  std::uint64_t epoch_ = 0;
  std::uint64_t last_session_ = 0;
  std::map<std::uint32_t, Delivery> deliveries_;  ///< of restored partitions
};

}  // namespace outrigger::testing
