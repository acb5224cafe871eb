#include "lib/kafka/internal/stall_watch.h"

#include <gtest/gtest.h>

namespace outrigger::kafka::internal {
namespace {

using std::chrono::seconds;
using Remedy = StallWatch::Remedy;

class StallWatchTest : public testing::Test {
 protected:
  static Position at(std::int32_t partition, std::int64_t next) { return {.partition = {.topic = "inbox", .partition = partition}, .next = next}; }

  StallWatch watch{{.silence = seconds(10), .joining = seconds(60)}};
  MonotonicTime now = MonotonicTime{} + std::chrono::hours(1);
};

TEST_F(StallWatchTest, SuspectsTheLongestSilentOfTheTooSilent) {
  watch.begin(at(0, 5), now);
  watch.begin(at(1, 7), now + seconds(1));
  EXPECT_FALSE(watch.suspect(now + seconds(9)));
  const auto suspect = watch.suspect(now + seconds(11));
  ASSERT_TRUE(suspect);
  EXPECT_EQ(suspect->partition.partition, 0);
  EXPECT_EQ(suspect->next, 5);
}

TEST_F(StallWatchTest, ProgressEndsTheSilence) {
  watch.begin(at(0, 5), now);
  watch.progress(at(0, 6), now + seconds(9));
  EXPECT_FALSE(watch.suspect(now + seconds(18)));
  EXPECT_EQ(watch.suspect(now + seconds(19))->next, 6);
}

TEST_F(StallWatchTest, APartitionWithNothingToReadMayBeSilent) {
  watch.begin(at(0, 5), now);
  EXPECT_EQ(watch.answered(at(0, 0).partition, 5, now + seconds(10)), Remedy::kNone);
  EXPECT_FALSE(watch.suspect(now + seconds(19)));
  EXPECT_TRUE(watch.suspect(now + seconds(20)));
}

TEST_F(StallWatchTest, ReadsAgainThenStartsAnew) {
  const auto partition = at(0, 0).partition;
  watch.begin(at(0, 5), now);
  EXPECT_EQ(watch.answered(partition, 8, now + seconds(10)), Remedy::kReadAgain);
  watch.begin(at(0, 5), now + seconds(10));
  EXPECT_FALSE(watch.suspect(now + seconds(19)));
  EXPECT_EQ(watch.answered(partition, 8, now + seconds(20)), Remedy::kStartAnew);
}

TEST_F(StallWatchTest, ProgressAfterReadingAgainMakesTheNextStallTheFirst) {
  const auto partition = at(0, 0).partition;
  watch.begin(at(0, 5), now);
  EXPECT_EQ(watch.answered(partition, 8, now + seconds(10)), Remedy::kReadAgain);
  watch.begin(at(0, 5), now + seconds(10));
  watch.progress(at(0, 8), now + seconds(11));
  EXPECT_EQ(watch.answered(partition, 9, now + seconds(21)), Remedy::kReadAgain);
}

TEST_F(StallWatchTest, BrokersThatDoNotAnswerAreWaitedForBeforeANewClientIsMade) {
  const auto partition = at(0, 0).partition;
  watch.begin(at(0, 5), now);
  EXPECT_EQ(watch.answered(partition, std::nullopt, now + seconds(10)), Remedy::kNone);
  EXPECT_TRUE(watch.suspect(now + seconds(11)));  // asked again, not forgotten
  EXPECT_EQ(watch.answered(partition, std::nullopt, now + seconds(69)), Remedy::kNone);
  EXPECT_EQ(watch.answered(partition, std::nullopt, now + seconds(70)), Remedy::kStartAnew);
}

TEST_F(StallWatchTest, AnAnswerBetweenStartsTheWaitAgain) {
  const auto partition = at(0, 0).partition;
  watch.begin(at(0, 5), now);
  EXPECT_EQ(watch.answered(partition, std::nullopt, now + seconds(10)), Remedy::kNone);
  EXPECT_EQ(watch.answered(partition, 5, now + seconds(40)), Remedy::kNone);
  EXPECT_EQ(watch.answered(partition, std::nullopt, now + seconds(80)), Remedy::kNone);
}

TEST_F(StallWatchTest, APausedPartitionIsNotSuspected) {
  watch.begin(at(0, 5), now);
  watch.pause(at(0, 0).partition);
  watch.progress(at(0, 6), now + seconds(1));  // fetched before it was paused
  EXPECT_FALSE(watch.suspect(now + seconds(100)));
  EXPECT_EQ(watch.answered(at(0, 0).partition, 9, now + seconds(100)), Remedy::kNone);
}

TEST_F(StallWatchTest, AnAssignmentIsWaitedForOnlySoLong) {
  EXPECT_FALSE(watch.joins_too_long(now));
  watch.joining(now);
  EXPECT_FALSE(watch.joins_too_long(now + seconds(59)));
  EXPECT_TRUE(watch.joins_too_long(now + seconds(60)));
  watch.joined();
  EXPECT_FALSE(watch.joins_too_long(now + seconds(600)));
}

TEST_F(StallWatchTest, JoiningForgetsWhatWasRead) {
  watch.begin(at(0, 5), now);
  watch.joining(now);
  EXPECT_FALSE(watch.suspect(now + seconds(100)));
}

}  // namespace
}  // namespace outrigger::kafka::internal
