// Many seeds, and the proof that they would find a bug.
//
// OUTRIGGER_SIMULATION_SEED=4711 runs that seed alone, OUTRIGGER_SIMULATION_SEEDS=100000 more of them.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <format>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/simulation/simulation.h"

namespace outrigger::testing {
namespace {

constexpr std::uint64_t kSeeds = 10'000;

std::optional<std::uint64_t> number(const char* variable) {
  const auto* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? std::nullopt : std::optional(std::strtoull(text, nullptr, 10));
}

struct Failure {
  std::uint64_t seed = 0;
  std::string what;
};

struct Outcome {
  std::optional<Failure> failure;  ///< of the lowest seed that failed
  Simulation::Reach reach;
  std::uint64_t seeds = 0;
};

void add(Simulation::Reach& sum, const Simulation::Reach& each) {
  for (const auto& [status, count] : each.outcomes) {
    sum.outcomes[status] += count;
  }
  sum.crashes += each.crashes;
  sum.unknown_commits += each.unknown_commits;
  sum.cancelled += each.cancelled;
  sum.paused += each.paused;
  sum.by_hand += each.by_hand;
}

/// Runs the seeds from `first` to `last` on all CPUs; none is begun once one has failed.
Outcome run(std::uint64_t first, std::uint64_t last, Mutant mutant) {
  Outcome outcome;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = first;
  std::atomic<bool> has_failed = false;
  const auto work = [&] {
    for (auto seed = next++; seed <= last && !has_failed; seed = next++) {
      Simulation simulation(seed, mutant);
      simulation.run();
      const auto problems = simulation.problems();
      const std::lock_guard lock(mutex);
      ++outcome.seeds;
      add(outcome.reach, simulation.reach());
      if (!problems.empty()) {
        has_failed = true;
        if (!outcome.failure || seed < outcome.failure->seed) {
          outcome.failure = Failure{seed, std::format("{} ({} problem(s))", problems.front(), problems.size())};
        }
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back(work);
    }
  }
  return outcome;
}

TEST(Simulator, EverySagaEndsConsistentlyWhateverHappens) {
  const auto only = number("OUTRIGGER_SIMULATION_SEED");
  const auto outcome = run(only.value_or(1), only.value_or(number("OUTRIGGER_SIMULATION_SEEDS").value_or(kSeeds)), Mutant::kNone);
  if (outcome.failure) {
    FAIL() << "seed " << outcome.failure->seed << ": " << outcome.failure->what
           << "\nrepeat it with: OUTRIGGER_SIMULATION_SEED=" << outcome.failure->seed << " ./dev test simulator";
  }
  const auto& reach = outcome.reach;
  std::cout << std::format("{} seeds: {} crashes, {} commits lost or of unknown outcome, {} cancelled, {} paused, {} completed by hand\n",
                           outcome.seeds, reach.crashes, reach.unknown_commits, reach.cancelled, reach.paused, reach.by_hand);
  for (const auto& [status, count] : reach.outcomes) {
    std::cout << std::format("  {} {}\n", count, name(status));
  }
  if (!only) {
    EXPECT_GT(reach.crashes, 0);
    EXPECT_GT(reach.unknown_commits, 0);
    EXPECT_GT(reach.cancelled, 0);
    EXPECT_GT(reach.paused, 0);
    EXPECT_GT(reach.by_hand, 0);
    EXPECT_TRUE(reach.outcomes.contains(saga::SagaStatus::kCompleted));
    EXPECT_TRUE(reach.outcomes.contains(saga::SagaStatus::kCompensated));
  }
}

struct Named {
  Mutant mutant;
  const char* name;
};

class SimulatorMutant : public ::testing::TestWithParam<Named> {};

TEST_P(SimulatorMutant, IsFoundWithinTheSeeds) {
  const auto outcome = run(1, kSeeds, GetParam().mutant);
  ASSERT_TRUE(outcome.failure.has_value()) << "no seed of " << kSeeds << " noticed it";
  std::cout << "found by seed " << outcome.failure->seed << ": " << outcome.failure->what.substr(0, 200) << '\n';
}

INSTANTIATE_TEST_SUITE_P(Bugs, SimulatorMutant,
                         ::testing::Values(Named{Mutant::kSkipsUnknown, "SkipsUnknownInCompensation"},
                                           Named{Mutant::kLeavesNoTombstone, "LeavesNoTombstone"},
                                           Named{Mutant::kAnswersBeforeCommit, "AnswersBeforeCommit"},
                                           Named{Mutant::kForgetsTimersAfterRestore, "ForgetsTimersAfterRestore"}),
                         [](const auto& mutant) { return mutant.param.name; });

}  // namespace
}  // namespace outrigger::testing
