#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "service/saga/state.h"

namespace outrigger::testing {

/// A bug put in on purpose, to prove that the simulation would find it.
enum class Mutant : std::uint8_t {
  kNone,
  kSkipsUnknown,              ///< the core undoes only what is known to have succeeded
  kLeavesNoTombstone,         ///< an undo that comes first does not refuse the late do
  kAnswersBeforeCommit,       ///< "committed" is said before it is durable: a crash loses the last batch
  kForgetsTimersAfterRestore  ///< restored sagas have no deadlines
};

/// The engine's lanes, their journal, the network, participants and clients in one thread with a virtual clock: everything that happens
/// follows from the seed. Faults: crashes, take-overs with the old process still alive, commits that are lost or whose outcome is not
/// known, messages that are lost, doubled and overtaken, transports without room, participants that fail and are busy, users who cancel,
/// operators who pause. The seed also says what the sagas look like (sequence, diamond, with a pivot) and whether a broker carries the
/// messages.
class Simulation final {
 public:
  explicit Simulation(std::uint64_t seed, Mutant mutant = Mutant::kNone);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Faults first, then none until every saga has ended.
  void run();

  /// What does not hold, one property a line; empty: all hold.
  [[nodiscard]] std::vector<std::string> problems() const;

  struct Reach {
    std::map<saga::SagaStatus, int> outcomes;
    int crashes = 0;
    int unknown_commits = 0;
    int cancelled = 0;
    int paused = 0;
    int by_hand = 0;  ///< stuck steps that an operator completed
  };
  [[nodiscard]] Reach reach() const;
  /// Bytes of every stored saga, by id.
  [[nodiscard]] std::map<std::string, std::string> states() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::testing
