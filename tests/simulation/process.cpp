#include "tests/simulation/process.h"

#include <algorithm>
#include <utility>

namespace outrigger::testing {

using namespace std::chrono_literals;
using participant::Command;
using participant::Direction;
using participant::Outcome;
using saga::Decision;
using saga::SagaState;
using saga::StepStatus;

namespace {

/// kForgetsTimersAfterRestore.
class Forgetful final : public journal::LaneJournal {
 public:
  explicit Forgetful(std::unique_ptr<journal::LaneJournal> writer) : writer_(std::move(writer)) {}

  [[nodiscard]] Result<std::vector<journal::Restored>> restore(std::span<const journal::Assignment> assignments,
                                                               const std::function<void(const SagaState&)>& unfinished) override {
    return writer_->restore(assignments, [&](SagaState state) {
      state.deadline = WallTime::max();
      for (auto& step : state.steps) {
        step.next_at.reset();
      }
      unfinished(state);
    });
  }
  [[nodiscard]] Result<void> commit(const journal::Batch& batch) override { return writer_->commit(batch); }

 private:
  const std::unique_ptr<journal::LaneJournal> writer_;
};

/// kAnswersBeforeCommit: the last batch is not durable before the next one is written.
class Hasty final : public journal::LaneJournal {
 public:
  Hasty(std::unique_ptr<journal::LaneJournal> writer, SimulatedLog& log, std::shared_ptr<SimulatedLog::Records> unsynced)
      : writer_(std::move(writer)), log_(log), unsynced_(std::move(unsynced)) {}

  [[nodiscard]] Result<std::vector<journal::Restored>> restore(std::span<const journal::Assignment> assignments,
                                                               const std::function<void(const SagaState&)>& unfinished) override {
    return writer_->restore(assignments, unfinished);
  }
  [[nodiscard]] Result<void> commit(const journal::Batch& batch) override {
    *unsynced_ = log_.records();
    return writer_->commit(batch);
  }

 private:
  const std::unique_ptr<journal::LaneJournal> writer_;
  SimulatedLog& log_;
  const std::shared_ptr<SimulatedLog::Records> unsynced_;
};

/// kSkipsUnknown: an undo of what was not known to have succeeded is taken as done without being sent.
Result<Decision> skip_unknown(const saga::Definition& definition, const SagaState& state, const saga::Event& event, WallTime now) {
  auto decision = saga::decide(definition, state, event, now);
  for (std::size_t i = 0; decision && i < state.steps.size(); ++i) {
    const bool was_unknown = state.steps[i].status == StepStatus::kUnknown || state.steps[i].status == StepStatus::kDispatched;
    if (!was_unknown || decision->state.steps[i].status != StepStatus::kCompensating) {
      continue;
    }
    const auto undo = std::ranges::find_if(decision->commands, [&](const Command& each) { return each.step == state.steps[i].name; });
    const auto answer = participant::reply_to(*undo, Outcome::kSuccess);
    decision->commands.erase(undo);
    auto next = saga::decide(definition, decision->state, answer, now);
    decision->state = std::move(next->state);
    std::ranges::move(next->commands, std::back_inserter(decision->commands));
    std::ranges::move(next->history, std::back_inserter(decision->history));
  }
  return decision;
}

}  // namespace

bool Network::offer(const Command& command) {
  if (commands.size() >= room) {
    return false;
  }
  commands.push_back(command);
  return true;
}

participant::Reply Database::handle(const Command& command, bool fails, bool is_busy) {
  const auto key = command.saga_id + "/" + command.step;
  if (is_busy) {
    auto reply = participant::reply_to(command, Outcome::kRetry, {}, "busy");
    reply.retry_after = 50ms;
    return reply;
  }
  if (command.direction == Direction::kDo) {
    if (const auto known = done.find(key); known != done.end()) {
      return participant::reply_to(command, known->second, "{}");
    }
    if (leaves_tombstones && undone.contains(key)) {
      return participant::reply_to(command, Outcome::kRefused, {}, "undone before");
    }
    done[key] = fails ? Outcome::kFailed : Outcome::kSuccess;
    if (!fails && ++effects[key] > 1) {
      ++doubled;
    }
    return participant::reply_to(command, done[key], "{}");
  }
  if (undone.insert(key).second && done.contains(key) && done[key] == Outcome::kSuccess) {
    --effects[key];
  }
  return participant::reply_to(command, Outcome::kSuccess);
}

saga::StartInput start_of_sequence(const saga::Catalog& catalog, const std::string& key, std::uint32_t partitions, saga::StartCallback callback) {
  return {.definition = catalog.latest("sequence"),
          .request = {.definition = "sequence", .idempotency_key = key, .business_key = key, .input = "{}", .traceparent = {}},
          .fingerprint = "f",
          .partition = saga::partition_of_key(key, partitions),
          .callback = std::move(callback)};
}

Process::Process(Parts parts) : parts_(std::move(parts)), recorder_(registry_), journal_(parts_.log, parts_.has_broker, parts_.fate) {
  unsynced_ = std::make_shared<SimulatedLog::Records>(parts_.log.records());
  for (unsigned i = 0; i < kLanes; ++i) {
    auto writer = journal_.open_lane(i).value();
    if (parts_.mutant == Mutant::kForgetsTimersAfterRestore) {
      writer = std::make_unique<Forgetful>(std::move(writer));
    } else if (parts_.mutant == Mutant::kAnswersBeforeCommit) {
      writer = std::make_unique<Hasty>(std::move(writer), parts_.log, unsynced_);
    }
    lanes_.push_back(std::make_unique<saga::Lane>(saga::Lane::Parts{.settings = parts_.settings,
                                                                    .catalog = parts_.catalog,
                                                                    .journal = journal_,
                                                                    .transport = parts_.has_broker ? nullptr : &parts_.network,
                                                                    .recorder = recorder_,
                                                                    .make_ulid = parts_.make_ulid,
                                                                    .published = [](const saga::SagaPointer&) {},
                                                                    .decide = parts_.mutant == Mutant::kSkipsUnknown ? skip_unknown : saga::decide},
                                                  std::move(writer)));
  }
  journal_.start(*this).value();
}

Process::~Process() { journal_.stop(); }

void Process::turn(std::size_t inputs) {
  journal_.pump(inputs);
  for (auto& lane : lanes_) {
    lane->turn();
  }
}

void Process::crash() {
  journal_.crash();
  if (parts_.mutant == Mutant::kAnswersBeforeCommit) {
    parts_.log.lose_what_came_after(*unsynced_);
  }
}

bool Process::is_healthy() const {
  return std::ranges::none_of(lanes_, [](const auto& lane) { return lane->trouble().has_value(); });
}

void Process::on_assigned(std::span<const journal::Assignment> assignments) {
  for (const auto& assignment : assignments) {
    lane_of(assignment.partition).mailbox().put({.assigned = {assignment}, .revoked = {}, .done = {}});
  }
}

void Process::on_revoked(std::span<const std::uint32_t> partitions) {
  for (const auto partition : partitions) {
    lane_of(partition).mailbox().put({.assigned = {}, .revoked = {partition}, .done = {}});
  }
  for (auto& lane : lanes_) {
    lane->turn();
  }
}

bool Process::on_input(journal::InboxRecord record) { return lane_of(record.partition).mailbox().put(record); }

}  // namespace outrigger::testing
