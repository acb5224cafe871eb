#include "lib/load/schedule.h"

#include <cmath>
#include <random>

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

TEST(Staircase, ReadsStages) {
  const auto stages = parse_staircase("50/s@30s,90/m@1m").value();
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].rate.requests, 50U);
  EXPECT_EQ(stages[0].duration, 30s);
  EXPECT_EQ(stages[1].rate.interval, 1min);
  for (const auto* text : {"", "50/s", "50/s@", "x@1s", "50/s@0s", "50/s@1.5s", "50/s@1s,", "50/s@10"}) {
    EXPECT_FALSE(parse_staircase(text)) << text;
  }
  std::string many = "1/s@1s";
  for (std::size_t i = 0; i < kMostStages; ++i) {
    many += ",1/s@1s";
  }
  EXPECT_FALSE(parse_staircase(many));
}

/// How many starts lie in [from, to).
std::uint64_t starts_between(const Schedule& schedule, nanoseconds from, nanoseconds to) { return schedule.due(to - 1ns) - schedule.due(from - 1ns); }

TEST(Staircase, EveryStageOffersItsRateTimesItsTimeInItsOwnSpan) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    Profile profile;
    const auto count = 1 + random() % 8;
    for (std::uint64_t i = 0; i < count; ++i) {
      profile.stages.push_back({.rate = {1 + random() % 5'000, 1s}, .duration = std::chrono::seconds(1 + random() % 60)});
    }
    const Schedule schedule(profile);
    nanoseconds start{0};
    std::uint64_t total = 0;
    for (const auto& [rate, duration] : profile.stages) {
      const auto wanted = rate.requests * static_cast<std::uint64_t>(duration / 1s);
      EXPECT_EQ(starts_between(schedule, start, start + duration), wanted);
      EXPECT_EQ(schedule.intended(total), start) << "the first of a stage starts with it";
      total += wanted;
      start += duration;
    }
    EXPECT_EQ(schedule.total(), total);
  }
}

TEST(Staircase, IntendedAscendsAndAgreesWithDue) {
  const Schedule schedule(Profile{.stages = parse_staircase("7/s@2s,1/s@3s,13/s@1s").value()});
  ASSERT_EQ(schedule.total(), 14U + 3U + 13U);
  for (std::uint64_t i = 0; i < schedule.total(); ++i) {
    EXPECT_EQ(schedule.due(schedule.intended(i)), i + 1);
    EXPECT_EQ(schedule.due(schedule.intended(i) - 1ns), i);
  }
  EXPECT_EQ(schedule.due(1h), schedule.total());
}

TEST(Poisson, TheSameSeedGivesTheSameStartsAndAnotherGivesOthers) {
  const auto starts = [](std::uint64_t seed) {
    const Schedule schedule(Profile{.stages = {{.rate = {100, 1s}, .duration = 10s}}, .arrival = Arrival::kPoisson, .seed = seed});
    std::vector<nanoseconds> all;
    for (std::uint64_t i = 0; i < schedule.total(); ++i) {
      all.push_back(schedule.intended(i));
    }
    return all;
  };
  EXPECT_EQ(starts(7), starts(7));
  EXPECT_NE(starts(7), starts(8));
}

TEST(Poisson, CountsGapsAndDispersionAreThoseOfAPoissonProcess) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Schedule schedule(Profile{.stages = {{.rate = {200, 1s}, .duration = 500s}}, .arrival = Arrival::kPoisson, .seed = seed});
    // 100 000 are expected, with a standard deviation of 316: five of them either way.
    EXPECT_NEAR(static_cast<double>(schedule.total()), 100'000, 5 * 316.3) << seed;
    double squares = 0;
    std::uint64_t longer_than_mean = 0;
    for (int second = 0; second < 500; ++second) {
      const double n = static_cast<double>(starts_between(schedule, std::chrono::seconds(second), std::chrono::seconds(second + 1)));
      squares += (n - 200) * (n - 200);
    }
    for (std::uint64_t i = 1; i < schedule.total(); ++i) {
      EXPECT_GE(schedule.intended(i), schedule.intended(i - 1));
      longer_than_mean += schedule.intended(i) - schedule.intended(i - 1) > 5ms ? 1 : 0;
    }
    // The variance of the counts is their mean; of 500 windows the estimate spreads by 200·sqrt(2/500) = 12.6.
    EXPECT_NEAR(squares / 500, 200, 5 * 12.7) << seed;
    // A gap is longer than the mean with probability 1/e.
    EXPECT_NEAR(static_cast<double>(longer_than_mean) / static_cast<double>(schedule.total()), std::exp(-1), 0.01) << seed;
  }
}

TEST(Poisson, ClimbsAStaircaseToo) {
  const Schedule schedule(
      Profile{.stages = {{.rate = {100, 1s}, .duration = 100s}, {.rate = {400, 1s}, .duration = 100s}}, .arrival = Arrival::kPoisson, .seed = 3});
  EXPECT_NEAR(static_cast<double>(starts_between(schedule, 0s, 100s)), 10'000, 500);
  EXPECT_NEAR(static_cast<double>(starts_between(schedule, 100s, 200s)), 40'000, 1'000);
  EXPECT_EQ(starts_between(schedule, 200s, 1h), 0U);
}

TEST(Poisson, DueIsTheCountOfIntendedStartsUpToThen) {
  const Schedule schedule(Profile{.stages = {{.rate = {50, 1s}, .duration = 20s}}, .arrival = Arrival::kPoisson, .seed = 5}, 300);
  ASSERT_EQ(schedule.total(), 300U);
  for (std::uint64_t i = 1; i < schedule.total(); ++i) {
    const auto due = schedule.due(schedule.intended(i));
    EXPECT_GT(due, i);
    EXPECT_LE(schedule.due(schedule.intended(i) - 1ns), i);
  }
  EXPECT_EQ(schedule.due(1h), 300U);
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
