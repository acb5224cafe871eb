#include "service/journal/kafka/internal/ownership.h"

#include <gtest/gtest.h>

#include "lib/kafka/consumer.h"

namespace outrigger::journal::internal {
namespace {

constexpr std::uint32_t kPartitions[] = {1, 2};
const std::vector<InputPosition> kPositions{{.partition = 1, .next = 0}};

std::vector<Assignment> assign(Ownership& ownership) { return ownership.assign(kPartitions, kafka::GroupMetadata::none()); }

TEST(Ownership, CommitsOnlyWhatIsRestored) {
  Ownership ownership;
  const auto assignments = assign(ownership);
  EXPECT_FALSE(ownership.for_commit(kPositions));
  EXPECT_FALSE(ownership.is_readable(1));
  EXPECT_TRUE(ownership.finish_restore(assignments[0], 5));
  EXPECT_TRUE(ownership.for_commit(kPositions));
  EXPECT_TRUE(ownership.is_readable(1));
  EXPECT_FALSE(ownership.is_readable(2));
  const auto deliveries = ownership.take_deliveries();
  ASSERT_EQ(deliveries.size(), 1U);
  EXPECT_EQ(deliveries[0].position, 5);
  EXPECT_TRUE(ownership.take_deliveries().empty());
}

TEST(Ownership, ARestoreThatBeginsAgainEndsReadingAndDelivery) {
  Ownership ownership;
  const auto assignments = assign(ownership);
  const auto first = ownership.finish_restore(assignments[0], 5);
  ownership.begin_restore(assignments);
  EXPECT_FALSE(ownership.is_readable(1));
  EXPECT_TRUE(ownership.take_deliveries().empty());
  EXPECT_GT(*ownership.finish_restore(assignments[0], 5), *first) << "every restore has a session of its own";
}

TEST(Ownership, ARevokedAssignmentStaysDeadWhenThePartitionComesBack) {
  Ownership ownership;
  const auto old = assign(ownership);
  ownership.begin_revoking(kPartitions, false);
  ownership.drop(kPartitions);
  const auto fresh = assign(ownership);
  EXPECT_NE(old[0].epoch, fresh[0].epoch);
  EXPECT_FALSE(ownership.for_restore(old));
  EXPECT_FALSE(ownership.finish_restore(old[0], 0));
  EXPECT_TRUE(ownership.for_restore(fresh));
}

TEST(Ownership, WhatIsUnderWayMayFinishDuringARevocationButNotAfterALoss) {
  Ownership ownership;
  const auto assignments = assign(ownership);
  ASSERT_TRUE(ownership.finish_restore(assignments[0], 0));
  ownership.begin_revoking(kPartitions, false);
  EXPECT_TRUE(ownership.for_commit(kPositions));
  EXPECT_FALSE(ownership.for_restore(assignments));
  ownership.begin_revoking(kPartitions, true);
  EXPECT_FALSE(ownership.for_commit(kPositions));
}

}  // namespace
}  // namespace outrigger::journal::internal
