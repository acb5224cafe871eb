// Every way a small saga can go: all orders of delivery, with up to three faults, against participants that keep the protocol.
// A fault is a command or a reply that is lost, doubled or late (a timer that fires while something is on its way), a crash, a deadline
// that passes, a participant that is busy or cannot undo, and a user who cancels or pauses.

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/saga/decide.h"
#include "tests/support/saga_definitions.h"

namespace outrigger::saga {
namespace {

using namespace std::chrono_literals;
using participant::Command;
using participant::Direction;
using participant::Outcome;
using participant::Reply;

struct Message {
  bool is_reply = false;
  std::size_t step = 0;
  Direction direction = Direction::kDo;
  std::uint32_t attempt = 1;
  Outcome outcome = Outcome::kSuccess;
  auto operator<=>(const Message&) const = default;
};

/// A participant's database: the inbox helper's contract.
struct Participant {
  enum class Do : std::uint8_t { kNever, kApplied, kFailed } done = Do::kNever;
  bool undone = false;   ///< the undo was carried out, or left a tombstone
  bool by_hand = false;  ///< an operator said so
  int effects = 0;       ///< applied minus undone
  int applications = 0;
};

struct World {
  SagaState saga;
  std::vector<Participant> participants;
  std::vector<Message> network;  ///< sorted: what is there twice is the same to deliver
  int faults = 0;                ///< left

  void add(const Message& message) { network.insert(std::ranges::lower_bound(network, message), message); }
  void remove(const Message& message) { network.erase(std::ranges::lower_bound(network, message)); }
};

/// Depth first over all worlds. Times are left out of the key: a timer fires when it is due, wherever that is.
class Explorer final {
 public:
  Explorer(Definition definition, int faults, bool pauses) : definition_(std::move(definition)), pauses_(pauses) {
    auto first =
        begin(definition_,
              {.id = "p0-01HZX3V6Q8M2T4R9K5W7Y1B3DC", .partition = 0, .idempotency_key = {}, .business_key = {}, .input = "{}", .traceparent = {}},
              WallTime(1'000'000ms));
    World world{.saga = std::move(first.state), .participants = std::vector<Participant>(definition_.steps.size()), .network = {}, .faults = faults};
    send(world, first.commands);
    world.saga.history.clear();
    world.saga.definition_hash.clear();
    explore(world);
  }

  std::map<SagaStatus, std::size_t> ends;
  std::set<std::pair<std::string, StepStatus>> reached;
  std::size_t worlds = 0;
  std::size_t cancelled = 0;
  std::string problem;  ///< the first one, with the way to it

 private:
  void explore(const World& world) {
    if (!problem.empty()) {
      return;
    }
    const auto key = key_of(world);
    const auto [known, is_new] = seen_.insert({key, true});
    if (!is_new) {
      if (known->second) {
        report(world, "a cycle: it could go on like this for ever");
      }
      return;
    }
    ++worlds;
    for (const auto& step : world.saga.steps) {
      reached.insert({step.name, step.status});
    }
    check(world);
    const bool can_go_on = deliver_each(world) | fire_timer(world) | operate(world);
    if (!can_go_on) {
      end(world);
    }
    if (world.faults > 0) {
      inject_each(world);
    }
    seen_[key] = false;
  }

  template <class Do>
  static void each_message(const World& world, const Do& act) {
    for (std::size_t i = 0; i < world.network.size(); ++i) {
      if (i == 0 || world.network[i] != world.network[i - 1]) {
        act(world.network[i]);
      }
    }
  }

  bool deliver_each(const World& world) {
    each_message(world, [&](const Message& message) {
      World next = world;
      next.remove(message);
      deliver(next, message, "deliver ");
    });
    return !world.network.empty();
  }

  /// Nothing in flight: only time can help. With something in flight, a timer that fires is a fault of its own.
  bool fire_timer(const World& world) {
    if (!world.network.empty() || !next_due(world.saga)) {
      return false;
    }
    timer(world, *next_due(world.saga), "timer");
    return true;
  }

  /// Nothing in flight, and an operator is needed: every exit leads on.
  bool operate(const World& world) {
    if (!world.network.empty() || world.saga.is_finished()) {
      return false;
    }
    if (world.saga.status == SagaStatus::kPaused) {
      ask(world, {.operation = Operation::kResume, .actor = {}, .reason = {}});
      return true;
    }
    if (world.saga.status != SagaStatus::kStuck || next_due(world.saga)) {
      return false;
    }
    ask(world, {.operation = Operation::kAbandon, .actor = {}, .reason = {}});
    const auto index = stuck_step(world.saga);
    const auto& step = world.saga.steps[index];
    World by_hand = world;
    auto& participant = by_hand.participants[index];
    participant.by_hand = true;
    if (step.status == StepStatus::kFailed) {
      participant.done = Participant::Do::kApplied;
      participant.effects = 1;
    } else {
      participant.undone = true;
      participant.effects = 0;
      ask(world, {.operation = Operation::kRetry, .actor = {}, .reason = {}, .step = step.name});
    }
    ask(by_hand, {.operation = Operation::kComplete, .actor = {}, .reason = {}, .step = step.name});
    return true;
  }

  static std::size_t stuck_step(const SagaState& saga) {
    const auto stuck = std::ranges::find_if(
        saga.steps, [](const StepState& each) { return each.status == StepStatus::kCompensating ? each.undo_waits && !each.next_at : false; });
    const auto failed = std::ranges::find(saga.steps, StepStatus::kFailed, &StepState::status);
    return static_cast<std::size_t>((stuck != saga.steps.end() ? stuck : failed) - saga.steps.begin());
  }

  void ask(const World& world, const OperatorAction& action) {
    World next = world;
    auto decision = decide(definition_, next.saga, action, next.saga.updated_at);
    if (!decision) {
      if (action.operation != Operation::kCancel) {
        report(world, "an operator's exit is refused: " + decision.error().message);
      }
      return;
    }
    cancelled += action.operation == Operation::kCancel ? 1 : 0;
    take(next, std::move(*decision));
    step_to(std::move(next), std::string(name(action.operation)));
  }

  void inject_each(const World& world) {
    World worse = world;
    --worse.faults;
    each_message(world, [&](const Message& message) {
      World lost = worse;
      lost.remove(message);
      step_to(std::move(lost), "lose " + describe(message));
      deliver(worse, message, "duplicate ");  // delivered, and still there
    });
    if (!world.network.empty() && next_due(world.saga)) {
      timer(worse, *next_due(world.saga), "early timer");
    }
    if (world.saga.status == SagaStatus::kRunning) {
      if (!world.saga.deadline_passed) {
        timer(worse, world.saga.deadline, "deadline");
      }
      ask(worse, {.operation = Operation::kCancel, .actor = {}, .reason = {}});
    }
    if (pauses_ && !world.saga.is_finished() && world.saga.status != SagaStatus::kPaused) {
      ask(worse, {.operation = Operation::kPause, .actor = {}, .reason = {}});
    }
    if (!world.saga.is_finished()) {
      World crashed = worse;
      crashed.network.clear();
      crashed.saga = decode(encode(world.saga)).value();
      send(crashed, commands_in_flight(definition_, crashed.saga));
      step_to(std::move(crashed), "crash");
    }
  }

  void deliver(const World& world, const Message& message, const std::string& how) {
    if (message.is_reply) {
      World next = world;
      Reply reply;
      reply.step = definition_.steps[message.step].name;
      reply.direction = message.direction;
      reply.attempt = message.attempt;
      reply.outcome = message.outcome;
      decide_on(next, reply, next.saga.updated_at);
      step_to(std::move(next), how + describe(message));
      return;
    }
    for (const auto outcome : {Outcome::kSuccess, Outcome::kFailed, Outcome::kRetry}) {
      World next = world;
      auto& participant = next.participants[message.step];
      auto answer = message;
      answer.is_reply = true;
      if (message.direction == Direction::kDo) {
        const bool is_first = participant.done == Participant::Do::kNever && !participant.undone;
        if (!is_first && outcome != Outcome::kSuccess) {
          continue;  // the answer is stored: there is no choice
        }
        if (outcome == Outcome::kRetry && next.faults-- == 0) {
          continue;
        }
        if (is_first && outcome == Outcome::kSuccess) {
          participant.done = Participant::Do::kApplied;
          ++participant.effects;
          ++participant.applications;
        } else if (is_first && outcome == Outcome::kFailed) {
          participant.done = Participant::Do::kFailed;
        }
        answer.outcome = outcome == Outcome::kRetry                      ? Outcome::kRetry
                         : participant.done == Participant::Do::kApplied ? Outcome::kSuccess
                         : participant.done == Participant::Do::kFailed  ? Outcome::kFailed
                                                                         : Outcome::kRefused;
      } else {
        if (outcome != Outcome::kSuccess && next.faults-- == 0) {
          continue;
        }
        answer.outcome = outcome;
        if (outcome == Outcome::kSuccess && !participant.undone) {
          participant.undone = true;
          participant.effects -= participant.done == Participant::Do::kApplied ? 1 : 0;
          check_order(world, message.step);
        }
      }
      next.add(answer);
      step_to(std::move(next), how + describe(message) + " -> " + std::string(name(answer.outcome)));
    }
  }

  void timer(const World& world, WallTime now, const std::string& how) {
    World next = world;
    decide_on(next, TimerFired{}, now);
    step_to(std::move(next), how);
  }

  void decide_on(World& world, const Event& event, WallTime now) {
    auto decision = decide(definition_, world.saga, event, now).value();
    if (!decision.changed && !(decision.state == world.saga)) {
      report(world, "an absorbed event changed the state");
    }
    take(world, std::move(decision));
  }

  void take(World& world, Decision decision) {
    world.saga = std::move(decision.state);
    world.saga.history.clear();  // says nothing about what happens next
    send(world, decision.commands);
  }

  void send(World& world, const std::vector<Command>& commands) {
    for (const auto& command : commands) {
      world.add({.is_reply = false,
                 .step = *definition_.index_of(command.step),
                 .direction = command.direction,
                 .attempt = command.attempt,
                 .outcome = {}});
    }
  }

  void step_to(World world, std::string how) {
    path_.push_back(std::move(how));
    explore(world);
    path_.pop_back();
  }

  void check(const World& world) {
    for (const auto& participant : world.participants) {
      if (participant.applications > 1) {
        report(world, "an effect came twice");
      }
    }
    if (world.saga.status == SagaStatus::kCompleted) {
      for (const auto& participant : world.participants) {
        if (participant.effects != 1) {
          report(world, "completed without every effect exactly once");
        }
      }
    }
    if (world.saga.status == SagaStatus::kCompensated) {
      for (const auto& participant : world.participants) {
        if (participant.effects != 0) {
          report(world, "compensated with an effect left");
        }
      }
    }
  }

  /// Nothing that came after a step has an effect left when it is undone.
  void check_order(const World& world, std::size_t undone) {
    for (std::size_t i = 0; i < definition_.steps.size(); ++i) {
      const auto& after = definition_.steps[i].after;
      if (world.participants[i].effects != 0 && std::ranges::find(after, definition_.steps[undone].name) != after.end()) {
        report(world, "undone before what came after it");
      }
    }
  }

  void end(const World& world) {
    ++ends[world.saga.status];
    if (!world.saga.is_finished()) {
      report(world, "nothing in flight, no timer and no exit for an operator: it hangs");
    }
  }

  void report(const World& world, const std::string& what) {
    if (problem.empty()) {
      problem = what + " (status " + std::string(name(world.saga.status)) + "), after:";
      for (const auto& each : path_) {
        problem += "\n  " + each;
      }
    }
  }

  [[nodiscard]] std::string describe(const Message& message) const {
    return definition_.steps[message.step].name + "/" + std::string(participant::name(message.direction)) + "#" + std::to_string(message.attempt) +
           (message.is_reply ? " reply " + std::string(name(message.outcome)) : " command");
  }

  /// Two hashes of the world: 128 bits, so that two of some millions being taken for one is not to be expected.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> key_of(const World& world) const {
    std::string bytes;
    const auto add = [&](auto... values) { (bytes.push_back(static_cast<char>(values)), ...); };
    add(world.faults, world.saga.status, world.saga.paused_status, world.saga.deadline_passed);
    for (const auto& step : world.saga.steps) {
      add(step.status, step.attempt, step.undo_attempt, step.undo_waits, step.next_at.has_value(), step.completion_sequence);
    }
    for (const auto& participant : world.participants) {
      add(participant.done, participant.undone, participant.by_hand, participant.effects, participant.applications);
    }
    for (const auto& message : world.network) {
      add(message.is_reply, message.step, message.direction, message.attempt, message.outcome);
    }
    std::uint64_t other = 0x9e3779b97f4a7c15U;
    for (const char byte : bytes) {
      other = (other ^ static_cast<unsigned char>(byte)) * 0x00000100000001b3U + (other >> 29U);
    }
    return {std::hash<std::string>{}(bytes), other};
  }

  struct KeyHash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& key) const { return key.first ^ key.second; }
  };

  const Definition definition_;
  const bool pauses_;
  std::unordered_map<std::pair<std::uint64_t, std::uint64_t>, bool, KeyHash> seen_;  ///< true: on the way to here
  std::vector<std::string> path_;
};

struct Shape {
  std::string name;
  std::vector<std::string> steps;
  int faults = 3;
  bool pauses = false;
};

Definition small(const Shape& shape) {
  return outrigger::testing::make_graph(shape.steps, {.attempts = 2, .undo_attempts = 2, .timeout = 1s, .deadline = 100h});
}

class Exploration : public ::testing::TestWithParam<Shape> {};

TEST_P(Exploration, EveryOrderWithTheseFaultsEndsConsistently) {
  const auto& shape = GetParam();
  const Explorer explorer(small(shape), shape.faults, shape.pauses);
  EXPECT_EQ(explorer.problem, "");
  for (const auto status : {SagaStatus::kCompleted, SagaStatus::kCompensated, SagaStatus::kAbandoned}) {
    EXPECT_TRUE(explorer.ends.contains(status)) << name(status);
  }
  EXPECT_GT(explorer.cancelled, 0U);
  // Proof of reach: each step was seen unknown and failed, and where there is a way back, being undone and undone.
  for (std::size_t i = 1; i <= shape.steps.size(); ++i) {
    std::vector<StepStatus> expected{StepStatus::kUnknown, StepStatus::kFailed};
    if (!shape.steps[i - 1].ends_with("final")) {
      expected.insert(expected.end(), {StepStatus::kCompensating, StepStatus::kCompensated});
    }
    for (const auto status : expected) {
      EXPECT_TRUE(explorer.reached.contains({"step-" + std::to_string(i), status})) << i << name(status);
    }
  }
  std::cout << shape.name << ": " << explorer.worlds << " worlds\n";
}

const std::vector<std::string> kDiamond{"1:", "2: 1", "3: 1", "4: 2 3"};

INSTANTIATE_TEST_SUITE_P(Shapes, Exploration,
                         ::testing::Values(Shape{"OneStep", {"1:"}, 3, true}, Shape{"TwoSteps", {"1:", "2: 1"}, 3, true},
                                           Shape{"ThreeSteps", {"1:", "2: 1", "3: 2"}}, Shape{"FourSteps", {"1:", "2: 1", "3: 2", "4: 3"}},
                                           Shape{"TwoBranches", {"1:", "2:"}, 3, true}, Shape{"Diamond", kDiamond},
                                           Shape{"DiamondWithPauses", kDiamond, 2, true},
                                           Shape{"Pivot", {"1:", "2: 1 pivot final", "3: 2 final"}, 3, true},
                                           Shape{"PivotBeforeBranches", {"1:", "2: 1 pivot", "3: 2 final", "4: 2 final"}},
                                           Shape{"PivotAfterBranches", {"1:", "2:", "3: 1 2 pivot final", "4: 3 final"}}),
                         [](const auto& shape) { return shape.param.name; });

TEST(ExplorationOfAFaultlessRun, NeverCompensatesUnlessAStepFails) {
  const Explorer explorer(small({"", {"1:", "2: 1", "3: 2"}}), 0, false);
  EXPECT_EQ(explorer.problem, "");
  EXPECT_FALSE(explorer.ends.contains(SagaStatus::kStuck));
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_FALSE(explorer.reached.contains({"step-" + std::to_string(i), StepStatus::kUnknown}));
  }
}

}  // namespace
}  // namespace outrigger::saga
