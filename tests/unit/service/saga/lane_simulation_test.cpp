// A few seeds of the simulation; ./dev test simulator runs thousands.

#include <gtest/gtest.h>

#include "tests/simulation/simulation.h"

namespace outrigger::testing {
namespace {

TEST(LaneSimulation, EverySagaEndsConsistentlyWhateverHappens) {
  Simulation::Reach sum;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Simulation simulation(seed);
    simulation.run();
    const auto problems = simulation.problems();
    ASSERT_TRUE(problems.empty()) << "seed " << seed << ": " << problems.front();
    const auto reach = simulation.reach();
    sum.crashes += reach.crashes;
    sum.unknown_commits += reach.unknown_commits;
    for (const auto& [status, count] : reach.outcomes) {
      sum.outcomes[status] += count;
    }
  }
  // Proof of reach.
  EXPECT_GT(sum.outcomes[saga::SagaStatus::kCompleted], 0);
  EXPECT_GT(sum.outcomes[saga::SagaStatus::kCompensated], 0);
  EXPECT_GT(sum.crashes, 0);
  EXPECT_GT(sum.unknown_commits, 0);
}

TEST(LaneSimulation, TheSameSeedGivesTheSameStates) {
  for (const std::uint64_t seed : {7U, 8U}) {
    Simulation first(seed);
    Simulation second(seed);
    first.run();
    second.run();
    EXPECT_FALSE(first.states().empty());
    EXPECT_EQ(first.states(), second.states());
  }
}

}  // namespace
}  // namespace outrigger::testing
