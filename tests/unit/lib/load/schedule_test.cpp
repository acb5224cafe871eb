#include "lib/load/schedule.h"

#include <gtest/gtest.h>

#include "lib/load/pacer.h"

namespace outrigger::load {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(Rate, ReadsAndWrites) {
  for (const auto* text : {"200/s", "90/m", "5/h"}) {
    EXPECT_EQ(format_rate(parse_rate(text).value()), text);
  }
  EXPECT_EQ(format_rate(parse_rate("7").value()), "7/s");
  for (const auto* text : {"", "0/s", "-1/s", "1.5/s", "10/x", "200 /s", "1000000/s"}) {
    const auto rate = parse_rate(text);
    ASSERT_FALSE(rate) << text;
    EXPECT_TRUE(rate.error().message.contains("200/s"));
  }
}

TEST(Schedule, SpreadsEvenlyAndEndsBeforeTheDuration) {
  const Schedule schedule({3, 1s}, 2s);
  EXPECT_EQ(schedule.total(), 6U);
  EXPECT_EQ(schedule.intended(0), 0ns);
  EXPECT_EQ(schedule.intended(1), 333'333'333ns);
  EXPECT_EQ(schedule.intended(3), 1s);
  EXPECT_LT(schedule.intended(5), 2s);
  EXPECT_EQ(Schedule({10, 1s}, 250ms).total(), 3U);
  EXPECT_EQ(Schedule({10, 1s}, 10s, 7).total(), 7U);
}

TEST(Schedule, DoesNotDriftOverAnHourAtAnOddRate) {
  const Schedule schedule({7919, 1s}, 1h);
  EXPECT_EQ(schedule.total(), 7919U * 3600U);
  EXPECT_EQ(schedule.intended(7919U * 3599U), 3599s);
}

TEST(Schedule, DueIsTheCountOfIntendedStartsUpToThen) {
  for (const Rate rate : {Rate{1, 1s}, Rate{3, 1s}, Rate{7, 1min}, Rate{1000, 1s}, Rate{99991, 1s}}) {
    const Schedule schedule(rate, 3s);
    for (std::int64_t t = -1; t < 3'100'000'000; t += 33'333'333) {
      for (const std::int64_t at : {t, t + 1}) {
        std::uint64_t counted = schedule.due(nanoseconds{at});
        if (counted > 0) {
          EXPECT_LE(schedule.intended(counted - 1).count(), at);
        }
        if (counted < schedule.total()) {
          EXPECT_GT(schedule.intended(counted).count(), at);
        }
      }
    }
  }
}

TEST(Pacer, HandsOutEachRequestOnceInOrder) {
  Pacer pacer(Schedule({10, 1s}, 500ms), 100);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto claim = pacer.claim(0ns);
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->index, i);
    EXPECT_EQ(claim->dropped_from, i);
    EXPECT_EQ(claim->intended, std::chrono::milliseconds{100 * static_cast<std::int64_t>(i)});
  }
  EXPECT_FALSE(pacer.claim(1s));
}

TEST(Pacer, DropsTheOldestBeyondItsBacklog) {
  Pacer pacer(Schedule({10, 1s}, 10s), 3);
  ASSERT_EQ(pacer.claim(0ns)->index, 0U);
  // At 2 s the requests 0 to 20 are due; 1 to 20 wait, and only 3 may.
  const auto claim = pacer.claim(2s);
  EXPECT_EQ(claim->dropped_from, 1U);
  EXPECT_EQ(claim->index, 18U);
  EXPECT_EQ(pacer.claim(2s)->dropped_from, 19U);
}

TEST(Pacer, NeverHandsOutTheSameRequestTwiceWithoutABacklog) {
  Pacer pacer(Schedule({10, 1s}, 1s), 0);
  std::uint64_t handed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t last = 0;
  for (int t = 0; t < 20; ++t) {
    if (const auto claim = pacer.claim(std::chrono::milliseconds{70 * t})) {
      EXPECT_TRUE(handed == 0 || claim->index > last);
      last = claim->index;
      ++handed;
      dropped += claim->index - claim->dropped_from;
    }
  }
  EXPECT_EQ(handed + dropped, 10U);
}

TEST(Pacer, AfterAStopWhatWasDueIsTheRest) {
  Pacer pacer(Schedule({10, 1s}, 10s), 100);
  ASSERT_TRUE(pacer.claim(0ns));
  const auto rest = pacer.stop(500ms);
  EXPECT_EQ(rest.from, 1U);
  EXPECT_EQ(rest.end, 6U);
  EXPECT_FALSE(pacer.claim(600ms));
}

}  // namespace
}  // namespace outrigger::load
