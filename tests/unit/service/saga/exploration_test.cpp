// Every way a small saga can go: all orders of delivery, with up to three faults, against participants that keep the protocol.

#include <map>
#include <set>
#include <string>
#include <unordered_set>
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
  bool undone = false;  ///< the undo was carried out, or left a tombstone
  int effects = 0;      ///< applied minus undone
  int applications = 0;
};

struct World {
  SagaState saga;
  std::vector<Participant> participants;
  std::multiset<Message> network;
  int faults = 0;  ///< left
};

/// Depth first over all worlds. Times are left out of the key: a timer fires when it is due, wherever that is.
class Explorer final {
 public:
  Explorer(Definition definition, int faults) : definition_(std::move(definition)) {
    auto first =
        begin(definition_,
              {.id = "p0-01HZX3V6Q8M2T4R9K5W7Y1B3DC", .partition = 0, .idempotency_key = {}, .business_key = {}, .input = "{}", .traceparent = {}},
              WallTime(1'000'000ms));
    World world{.saga = std::move(first.state), .participants = std::vector<Participant>(definition_.steps.size()), .network = {}, .faults = faults};
    send(world, first.commands);
    explore(world);
  }

  std::map<SagaStatus, std::size_t> ends;
  std::set<std::pair<std::string, StepStatus>> reached;
  std::size_t worlds = 0;
  std::string problem;  ///< the first one, with the way to it

 private:
  void explore(const World& world) {
    if (!problem.empty()) {
      return;
    }
    const auto key = key_of(world);
    if (on_the_way_.contains(key)) {
      report(world, "a cycle: it could go on like this for ever");
      return;
    }
    if (!seen_.insert(key).second) {
      return;
    }
    on_the_way_.insert(key);
    ++worlds;
    for (const auto& step : world.saga.steps) {
      reached.insert({step.name, step.status});
    }
    check(world);
    const bool can_go_on = deliver_each(world) | fire_timer(world);
    if (!can_go_on) {
      end(world);
    }
    if (world.faults > 0) {
      inject_each(world);
    }
    on_the_way_.erase(key);
  }

  bool deliver_each(const World& world) {
    for (auto message = world.network.begin(); message != world.network.end(); message = world.network.upper_bound(*message)) {
      World next = world;
      next.network.erase(next.network.find(*message));
      deliver(next, *message, "deliver ");
    }
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

  void inject_each(const World& world) {
    World worse = world;
    --worse.faults;
    for (auto message = world.network.begin(); message != world.network.end(); message = world.network.upper_bound(*message)) {
      World lost = worse;
      lost.network.erase(lost.network.find(*message));
      step_to(std::move(lost), "lose " + describe(*message));
      deliver(worse, *message, "duplicate ");  // delivered, and still there
    }
    if (!world.network.empty() && next_due(world.saga)) {
      timer(worse, *next_due(world.saga), "early timer");
    }
    if (world.saga.status == SagaStatus::kRunning) {
      timer(worse, world.saga.deadline, "deadline");
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
        }
      }
      next.network.insert(answer);
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
    world.saga = std::move(decision.state);
    send(world, decision.commands);
  }

  void send(World& world, const std::vector<Command>& commands) {
    for (const auto& command : commands) {
      world.network.insert({.is_reply = false,
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
    if (world.saga.status == SagaStatus::kStuck) {
      for (const auto operation : {Operation::kRetry, Operation::kSkip, Operation::kComplete, Operation::kAbandon}) {
        const auto stuck = std::ranges::find_if(world.saga.steps, [](const StepState& each) { return each.undo_waits && !each.next_at; });
        const OperatorAction action{.operation = operation, .actor = {}, .reason = {}, .step = stuck->name};
        if (!decide(definition_, world.saga, action, world.saga.updated_at)) {
          report(world, "stuck without an operator's exit");
        }
      }
    }
  }

  void end(const World& world) {
    ++ends[world.saga.status];
    if (!world.saga.is_finished() && world.saga.status != SagaStatus::kStuck) {
      report(world, "nothing in flight and no timer: it hangs");
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

  [[nodiscard]] std::string key_of(const World& world) const {
    std::string key = std::to_string(world.faults) + std::string(name(world.saga.status));
    for (const auto& step : world.saga.steps) {
      key += std::format("|{},{},{},{},{},{}", static_cast<int>(step.status), step.attempt, step.undo_attempt, step.undo_waits,
                         step.next_at.has_value(), step.completion_sequence);
    }
    for (const auto& participant : world.participants) {
      key += std::format("|{},{},{}", static_cast<int>(participant.done), participant.undone, participant.effects);
    }
    for (const auto& message : world.network) {
      key += std::format("|{},{},{},{},{}", message.is_reply, message.step, static_cast<int>(message.direction), message.attempt,
                         static_cast<int>(message.outcome));
    }
    return key;
  }

  const Definition definition_;
  std::unordered_set<std::string> seen_;
  std::unordered_set<std::string> on_the_way_;
  std::vector<std::string> path_;
};

Definition small(std::size_t steps) {
  return outrigger::testing::make_sequence({.steps = steps, .attempts = 2, .undo_attempts = 2, .timeout = 1s, .deadline = 100h});
}

class Exploration : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Exploration, EveryOrderWithThreeFaultsEndsConsistently) {
  const Explorer explorer(small(GetParam()), 3);
  EXPECT_EQ(explorer.problem, "");
  EXPECT_GT(explorer.ends.at(SagaStatus::kCompleted), 0U);
  EXPECT_GT(explorer.ends.at(SagaStatus::kCompensated), 0U);
  EXPECT_GT(explorer.ends.at(SagaStatus::kStuck), 0U);
  // Proof of reach: each step was seen unknown, being undone and undone.
  for (std::size_t i = 1; i <= GetParam(); ++i) {
    for (const auto status : {StepStatus::kUnknown, StepStatus::kCompensating, StepStatus::kCompensated, StepStatus::kFailed}) {
      EXPECT_TRUE(explorer.reached.contains({"step-" + std::to_string(i), status})) << i << name(status);
    }
  }
  RecordProperty("worlds", static_cast<int>(explorer.worlds));
}

INSTANTIATE_TEST_SUITE_P(Steps, Exploration, ::testing::Values(1, 2, 3));

TEST(ExplorationOfAFaultlessRun, NeverCompensatesUnlessAStepFails) {
  const Explorer explorer(small(3), 0);
  EXPECT_EQ(explorer.problem, "");
  EXPECT_FALSE(explorer.ends.contains(SagaStatus::kStuck));
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_FALSE(explorer.reached.contains({"step-" + std::to_string(i), StepStatus::kUnknown}));
  }
}

TEST(ExplorationOfAGraph, ParallelStepsEndConsistentlyToo) {
  auto definition = small(3);
  definition.steps[1].after.clear();
  definition.steps[2].after = {"step-1", "step-2"};
  const Explorer explorer(definition, 2);
  EXPECT_EQ(explorer.problem, "");
  EXPECT_GT(explorer.ends.at(SagaStatus::kCompleted), 0U);
  EXPECT_GT(explorer.ends.at(SagaStatus::kCompensated), 0U);
}

}  // namespace
}  // namespace outrigger::saga
