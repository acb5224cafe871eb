#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/telemetry/metrics.h"
#include "service/saga/internal/lane.h"
#include "tests/simulation/simulation.h"
#include "tests/support/simulated_journal.h"

namespace outrigger::testing {

/// What is under way between the service and the participants.
struct Network final : saga::CommandTransport {
  std::vector<participant::Command> commands;
  std::vector<participant::Reply> replies;
  std::size_t room = SIZE_MAX;

  [[nodiscard]] bool offer(const participant::Command& command) override;
};

/// The participants' databases: inbox, effects, tombstones.
struct Database {
  explicit Database(bool tombstones) : leaves_tombstones(tombstones) {}

  bool leaves_tombstones;
  std::map<std::string, participant::Outcome> done;  ///< by saga and step
  std::set<std::string> undone;
  std::map<std::string, int> effects;
  int doubled = 0;

  [[nodiscard]] participant::Reply handle(const participant::Command& command, bool fails, bool is_busy);
};

/// A client's start of the saga "sequence"; the key decides its partition.
[[nodiscard]] saga::StartInput start_of_sequence(const saga::Catalog& catalog, const std::string& key, std::uint32_t partitions,
                                                 saga::StartCallback callback);

/// One process of the service: real lanes over a simulated journal.
class Process final : public journal::Listener {
 public:
  struct Parts {
    SimulatedLog& log;
    bool has_broker = false;
    Mutant mutant = Mutant::kNone;
    SimulatedJournal::Fate fate;
    const saga::Catalog& catalog;
    const saga::EngineSettings& settings;
    Network& network;
    std::function<std::string()> make_ulid;
  };
  static constexpr unsigned kLanes = 2;

  explicit Process(Parts parts);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void turn(std::size_t inputs);
  void crash();
  void stop() { journal_.stop(); }
  [[nodiscard]] saga::Lane& lane_of(std::uint32_t partition) { return *lanes_[partition % kLanes]; }
  [[nodiscard]] bool is_healthy() const;

  void on_assigned(std::span<const journal::Assignment> assignments) override;
  void on_revoked(std::span<const std::uint32_t> partitions) override;
  [[nodiscard]] bool on_input(journal::InboxRecord record) override;

 private:
  const Parts parts_;
  telemetry::Registry registry_;
  saga::Recorder recorder_;
  SimulatedJournal journal_;
  std::shared_ptr<SimulatedLog::Records> unsynced_;  ///< kAnswersBeforeCommit: what is left after a crash
  std::vector<std::unique_ptr<saga::Lane>> lanes_;
};

}  // namespace outrigger::testing
