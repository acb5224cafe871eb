#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/saga/decide.h"
#include "service/saga/internal/lane_index.h"
#include "service/saga/internal/mailbox.h"
#include "service/saga/internal/recorder.h"

namespace outrigger::saga {

/// The definitions a lane can run: the catalogue's, those that came out of its partitions, and those that a start brought, which were
/// added while running. Used by the lane's thread.
class KnownDefinitions final {
 public:
  explicit KnownDefinitions(const Catalog& catalog) : catalog_(catalog) {}
  [[nodiscard]] std::shared_ptr<const Definition> find(std::string_view hash) const;
  /// Errors: kDataLoss when the stored body does not give the hash it is stored under.
  [[nodiscard]] Result<std::shared_ptr<const Definition>> add(const journal::DefinitionRecord& record);
  void learn(const std::shared_ptr<const Definition>& definition);

 private:
  const Catalog& catalog_;
  std::map<std::string, std::shared_ptr<const Definition>, std::less<>> learnt_;
};

/// decide(); a test may put another in its place, to prove that it would notice.
using Decide = Result<Decision> (*)(const Definition&, const SagaState&, const Event&, WallTime);

/// One commit in the making: takes inputs, decides over committed states and its own, and gathers the batch.
/// Nothing outside it changes before succeed().
class Round final {
 public:
  struct Parts {
    const journal::Journal& journal;
    KnownDefinitions& definitions;
    LaneIndex& index;
    Recorder& recorder;
    const std::function<std::string()>& make_ulid;
    Decide decide;
  };

  Round(const Parts& parts, WallTime now) : parts_(parts), now_(now) {}

  void take(StartInput input);
  void take(ActionInput input);
  void take(const participant::Reply& reply);
  void take(journal::InboxRecord record);
  void take_timer(const std::string& saga_id);
  void take_expired(std::uint32_t partition, const std::string& saga_id);
  /// Positions only: whether the journal takes a write at all.
  void take_probe(std::uint32_t partition) { positions_[partition]; }

  [[nodiscard]] bool needs_commit() const { return !positions_.empty(); }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  /// The batch; once, before the commit.
  [[nodiscard]] const journal::Batch& finish();

  /// After the commit: takes the new states into the index, answers the callers, returns the states that changed.
  std::vector<SagaPointer> succeed();
  /// Answers the callers with an error; the round is as if it had never been.
  void fail(const Error& error);

 private:
  [[nodiscard]] Result<SagaPointer> load(const std::string& saga_id) const;
  [[nodiscard]] LaneIndex::Partition* own(std::uint32_t partition);
  void adopt(const Definition& definition, Decision decision);
  /// False: the saga cannot go on (its state or its definition cannot be read).
  [[nodiscard]] bool decide_on(const std::string& saga_id, const Event& event, std::string_view kind);
  void answer_start(StartCallback callback, std::string saga_id, bool created);

  const Parts parts_;
  const WallTime now_;
  std::size_t inputs_ = 0;
  journal::Batch batch_;
  std::map<std::string, SagaPointer> states_;                          ///< as this round leaves them
  std::map<std::string, std::vector<participant::Command>> commands_;  ///< by saga
  std::map<std::pair<std::string, std::string>, journal::KeyRecord> keys_;
  std::set<std::pair<std::uint32_t, std::string>> new_definitions_;
  std::map<std::uint32_t, std::int64_t> positions_;  ///< touched partitions; a new position, or 0: unchanged
  struct StartAnswer {
    StartCallback callback;
    std::string saga_id;
    bool created = true;
  };
  std::vector<StartAnswer> start_answers_;
  std::vector<std::pair<SagaCallback, std::string>> action_answers_;
};

}  // namespace outrigger::saga
