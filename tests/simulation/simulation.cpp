#include "tests/simulation/simulation.h"

#include <algorithm>
#include <format>
#include <random>
#include <set>
#include <utility>

#include "tests/simulation/process.h"
#include "tests/support/saga_definitions.h"

namespace outrigger::testing {

using namespace std::chrono_literals;
using saga::Operation;
using saga::SagaState;
using saga::SagaStatus;
using saga::StepStatus;

namespace {

constexpr std::uint32_t kPartitions = 4;
constexpr int kKeys = 6;
constexpr int kFaultyActs = 300;
constexpr int kMostActs = 20'000;

saga::Definition make_definition(std::uint64_t which) {
  const DefinitionShape shape{.steps = 3, .attempts = 4, .undo_attempts = 6, .timeout = 500ms, .deadline = 20s};
  switch (which) {
    case 0: return make_sequence(shape);
    case 1: return make_graph({"1:", "2: 1", "3: 1", "4: 2 3"}, shape);
    default: return make_graph({"1:", "2: 1 pivot final", "3: 2 final", "4: 2 final"}, shape);
  }
}

}  // namespace

class Simulation::Impl final {
 public:
  Impl(std::uint64_t seed, Mutant mutant)
      : mutant_(mutant),
        has_broker_(seed % 2 == 0),
        has_crashes_(seed % 4 < 3),
        random_(seed),
        log_(kPartitions),
        database_(mutant != Mutant::kLeavesNoTombstone) {
    settings_.clock = [this] { return now_; };
    settings_.queue_capacity = 8;
    settings_.reply_queue_capacity = 16;
    settings_.batch_limit = 6;
    catalog_.add(make_definition(seed / 4 % 3)).value();
    start_process();
  }

  void run() {
    for (int i = 0; i < kFaultyActs; ++i) {
      act(40);
    }
    faults_ = false;
    network_.room = SIZE_MAX;
    zombie_.reset();
    for (int i = 0; i < kMostActs && (i % 25 != 0 || !is_over()); ++i) {
      act(250);
    }
  }

  [[nodiscard]] std::vector<std::string> problems() const {
    std::vector<std::string> found;
    const auto expect = [&](bool holds, std::string what) {
      if (!holds) {
        found.push_back(std::move(what));
      }
    };
    expect(is_over(), "some sagas did not end, or some messages were not used");
    expect(process_->is_healthy(), "a lane is in trouble though the faults are over");
    expect(database_.doubled == 0, "an effect came twice");
    expect(contradictions_ == 0, "a key was answered with two sagas, or with one that is not in the log");
    std::set<std::string> keys;
    const auto states = log_.states();
    for (const auto& [id, bytes] : states) {
      const auto saga = saga::decode(bytes).value();
      expect(keys.insert(saga.idempotency_key).second, "two sagas of the key " + saga.idempotency_key);
      expect(saga.status != SagaStatus::kCompleted || !cancelled_.contains(id), id + " was cancelled and completed");
      for (const auto& step : saga.steps) {
        const auto effect = database_.effects.find(id + "/" + step.name);
        const auto effects = effect == database_.effects.end() ? 0 : effect->second;
        expect(effects == (saga.status == SagaStatus::kCompleted ? 1 : 0),
               std::format("{} effects of {} {}: {}", effects, id, step.name, saga::to_json(saga)));
      }
    }
    for (const auto& [key, id] : acknowledged_) {
      expect(states.contains(id), std::format("{} was acknowledged as {}, which is not in the log", key, id));
    }
    return found;
  }

  [[nodiscard]] Reach reach() const {
    auto reach = reach_;
    for (const auto& [id, bytes] : log_.states()) {
      ++reach.outcomes[saga::decode(bytes).value().status];
    }
    return reach;
  }
  [[nodiscard]] std::map<std::string, std::string> states() const { return log_.states(); }

 private:
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  std::size_t pick(std::size_t size) { return random_() % size; }

  void start_process() {
    process_ = std::make_unique<Process>(Process::Parts{.log = log_,
                                                        .has_broker = has_broker_,
                                                        .mutant = mutant_,
                                                        .fate = [this] { return fate(); },
                                                        .catalog = catalog_,
                                                        .settings = settings_,
                                                        .network = network_,
                                                        .make_ulid = [this] { return std::format("{:026}", ++last_ulid_); }});
  }

  CommitFate fate() {
    if (!faults_ || !chance(8)) {
      return CommitFate::kCommitted;
    }
    ++reach_.unknown_commits;
    return chance(50) ? CommitFate::kLost : CommitFate::kUnknown;
  }

  void act(std::uint64_t longest_pause) {
    now_ += std::chrono::milliseconds(random_() % longest_pause);
    const auto what = random_() % 100;
    if (what < 15) {
      start_saga();
    } else if (what < 40) {
      handle_command();
    } else if (what < 55) {
      deliver_reply();
    } else if (what < 57) {
      if (faults_ && has_crashes_) {
        break_process();
      }
    } else if (what < 61) {
      faults_&& chance(70) ? interfere() : rescue();
    } else if (what < 63) {
      network_.room = faults_ && chance(50) ? pick(3) : SIZE_MAX;
    } else {
      turn();
    }
  }

  void turn() {
    process_->turn(pick(8) + 1);
    if (zombie_) {
      zombie_->turn(pick(8));
    }
    if (has_broker_) {
      std::ranges::move(log_.take_commands(), std::back_inserter(network_.commands));
    }
  }

  /// Every key is sent three times, answered or not, and then until it is answered: clients repeat.
  void start_saga() {
    auto key = "key-" + std::to_string(next_key_ % kKeys);
    if (next_key_++ >= kKeys * 3 && acknowledged_.contains(key)) {
      return;
    }
    auto start = start_of_sequence(catalog_, key, kPartitions, [this, key](const Result<saga::Started>& started) { answered(key, started); });
    auto& mailbox = process_->lane_of(start.partition).mailbox();
    saga::Request request = std::move(start);
    static_cast<void>(mailbox.put(request));
  }

  void answered(const std::string& key, const Result<saga::Started>& started) {
    if (started) {
      const auto [known, is_new] = acknowledged_.insert({key, started->saga->id});
      contradictions_ += known->second != started->saga->id || !log_.states().contains(started->saga->id) ? 1 : 0;
    }
  }

  void handle_command() {
    if (network_.commands.empty()) {
      return;
    }
    const auto at = network_.commands.begin() + static_cast<std::ptrdiff_t>(pick(network_.commands.size()));
    const auto command = *at;
    if (!(faults_ && chance(10))) {
      network_.commands.erase(at);  // else: it comes again
    }
    if (faults_ && chance(10)) {
      return;  // lost on its way
    }
    auto reply = database_.handle(command, chance(8), faults_ && chance(5));
    if (!(faults_ && chance(10))) {
      network_.replies.push_back(std::move(reply));
    }
  }

  void deliver_reply() {
    if (network_.replies.empty()) {
      return;
    }
    const auto at = network_.replies.begin() + static_cast<std::ptrdiff_t>(pick(network_.replies.size()));
    auto reply = *at;
    const bool is_delivered = has_broker_ ? (log_.append_input(reply), true) : process_->lane_of(reply.partition).mailbox().put(reply);
    if (is_delivered && !(faults_ && chance(10))) {
      network_.replies.erase(at);
    }
    if (faults_ && has_broker_ && chance(3)) {
      log_.append_undecodable_input(static_cast<std::uint32_t>(pick(kPartitions)), "rubbish");
    }
  }

  void break_process() {
    ++reach_.crashes;
    const auto how = random_() % 3;
    if (how == 0) {
      process_->stop();
    } else if (how == 1) {
      process_->crash();
    }
    if (how != 2) {
      process_.reset();
    } else {
      zombie_ = std::move(process_);  // believes that it still owns everything
    }
    if (!has_broker_ && how != 2) {
      network_.commands.clear();
      network_.replies.clear();
    }
    start_process();
  }

  /// A user cancels, or an operator pauses, one saga or another.
  void interfere() {
    if (const auto states = log_.states(); !states.empty()) {
      const auto saga = saga::decode(std::next(states.begin(), static_cast<std::ptrdiff_t>(pick(states.size())))->second).value();
      const auto operation = chance(30) ? Operation::kCancel : Operation::kPause;
      if (!saga.is_finished()) {
        ask(saga, {.operation = operation, .actor = "simulation", .reason = "at random"});
      }
    }
  }

  /// An operator looks after what waits for one.
  void rescue() {
    for (const auto& [id, bytes] : log_.states()) {
      const auto saga = saga::decode(bytes).value();
      if (saga.status == SagaStatus::kPaused) {
        ask(saga, {.operation = Operation::kResume, .actor = "simulation", .reason = "paused"});
      } else if (saga.status == SagaStatus::kStuck) {
        const auto failed = std::ranges::find(saga.steps, StepStatus::kFailed, &saga::StepState::status);
        const bool is_past_pivot = failed != saga.steps.end() && std::ranges::none_of(saga.steps, [](const saga::StepState& step) {
                                     return step.status == StepStatus::kCompensating;
                                   });
        ask(saga, is_past_pivot ? saga::OperatorAction{.operation = Operation::kComplete, .actor = "x", .reason = "done", .step = failed->name}
                                : saga::OperatorAction{.operation = Operation::kRetry, .actor = "x", .reason = "stuck"});
      }
    }
  }

  void ask(const SagaState& saga, saga::OperatorAction action) {
    const auto operation = action.operation;
    if (operation == Operation::kComplete) {
      database_.effects[saga.id + "/" + action.step] = 1;  // done first, said then
    }
    saga::Request request = saga::ActionInput{.saga_id = saga.id,
                                              .action = std::move(action),
                                              .partition = saga.partition,
                                              .callback = [this, operation, id = saga.id](const Result<saga::SagaPointer>& done) {
                                                if (done) {
                                                  asked(operation, id);
                                                }
                                              }};
    static_cast<void>(process_->lane_of(saga.partition).mailbox().put(request));
  }

  void asked(Operation operation, const std::string& id) {
    reach_.cancelled += operation == Operation::kCancel ? 1 : 0;
    reach_.paused += operation == Operation::kPause ? 1 : 0;
    reach_.by_hand += operation == Operation::kComplete ? 1 : 0;
    if (operation == Operation::kCancel) {
      cancelled_.insert(id);
    }
  }

  [[nodiscard]] bool is_over() const {
    if (next_key_ < kKeys * 3 || acknowledged_.size() < kKeys || !network_.commands.empty() || !network_.replies.empty() || !process_->is_healthy()) {
      return false;
    }
    const auto states = log_.states();
    return states.size() >= kKeys && std::ranges::all_of(states, [](const auto& entry) { return saga::decode(entry.second).value().is_finished(); });
  }

  const Mutant mutant_;
  const bool has_broker_;
  const bool has_crashes_;  ///< without them, nothing heals what a failed commit left behind
  std::mt19937_64 random_;
  WallTime now_{1'700'000'000'000ms};
  SimulatedLog log_;
  saga::EngineSettings settings_;
  saga::Catalog catalog_;
  Network network_;
  Database database_;
  std::unique_ptr<Process> zombie_;
  std::unique_ptr<Process> process_;
  std::map<std::string, std::string> acknowledged_;
  std::set<std::string> cancelled_;
  Reach reach_;
  std::uint64_t last_ulid_ = 0;
  int next_key_ = 0;
  int contradictions_ = 0;
  bool faults_ = true;
};

Simulation::Simulation(std::uint64_t seed, Mutant mutant) : impl_(std::make_unique<Impl>(seed, mutant)) {}
Simulation::~Simulation() = default;
void Simulation::run() { impl_->run(); }
std::vector<std::string> Simulation::problems() const { return impl_->problems(); }
Simulation::Reach Simulation::reach() const { return impl_->reach(); }
std::map<std::string, std::string> Simulation::states() const { return impl_->states(); }

}  // namespace outrigger::testing
