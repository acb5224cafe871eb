#include "lib/load/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lib/load/report.h"

namespace outrigger::load {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(Histogram, IsExactBelow256Nanoseconds) {
  for (std::int64_t value = 0; value < 256; ++value) {
    Histogram histogram;
    histogram.add(nanoseconds{value});
    histogram.add(1s);
    EXPECT_EQ(histogram.quantile(0.5).count(), value);
  }
}

TEST(Histogram, AQuantileIsNeverBelowItsSampleAndLessThanOne128thAboveIt) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Histogram histogram;
    std::vector<std::int64_t> samples;
    const int n = static_cast<int>(1 + random() % 500);
    for (int i = 0; i < n; ++i) {
      const auto magnitude = std::uniform_int_distribution<int>(0, 41)(random);
      const auto value = static_cast<std::int64_t>(random() % (std::uint64_t{2} << magnitude));
      samples.push_back(value);
      histogram.add(nanoseconds{value});
    }
    std::ranges::sort(samples);
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(q * n - 1e-9 * n)), 1, n);
      const auto truth = samples[static_cast<std::size_t>(rank - 1)];
      const auto reported = histogram.quantile(q).count();
      EXPECT_GE(reported, truth);
      EXPECT_LE(reported - truth, truth / 128) << "q " << q << " n " << n;
    }
    EXPECT_EQ(histogram.quantile(1.0).count(), samples.back());
    EXPECT_EQ(histogram.minimum().count(), samples.front());
  }
}

TEST(Histogram, RanksOfRoundNumbersAreNotPushedUpByBinaryFractions) {
  Histogram histogram;
  for (int i = 1; i <= 100; ++i) {
    histogram.add(nanoseconds{i});
  }
  EXPECT_EQ(histogram.quantile(0.99).count(), 99);
  EXPECT_EQ(histogram.quantile(0.07).count(), 7);
}

TEST(Histogram, MergingEqualsAddingToOne) {
  Histogram one;
  Histogram left;
  Histogram right;
  for (int i = 0; i < 1000; ++i) {
    const nanoseconds value{i * i * 977};
    one.add(value);
    (i % 3 == 0 ? left : right).add(value);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), one.count());
  EXPECT_EQ(left.mean(), one.mean());
  for (const double q : {0.1, 0.5, 0.99, 1.0}) {
    EXPECT_EQ(left.quantile(q), one.quantile(q));
  }
}

TEST(Histogram, ClampsWhatIsNegativeOrTooLong) {
  Histogram histogram;
  histogram.add(-5ns);
  histogram.add(100h);
  EXPECT_EQ(histogram.minimum(), 0ns);
  EXPECT_EQ(histogram.maximum(), Histogram::kLargest);
  EXPECT_EQ(histogram.quantile(1), Histogram::kLargest);
}

TEST(Histogram, EmptyIsAllZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.99), 0ns);
  EXPECT_EQ(histogram.mean(), 0ns);
  EXPECT_EQ(histogram.minimum(), 0ns);
}

TEST(Histogram, CountsOnlyWhatIsCertainlyWithinALimit) {
  Histogram histogram;
  for (int i = 1; i <= 200; ++i) {
    histogram.add(std::chrono::milliseconds{i});
  }
  EXPECT_LE(histogram.count_at_or_below(120ms), 120U);
  EXPECT_GE(histogram.count_at_or_below(121ms), 120U);
  EXPECT_EQ(histogram.count_at_or_below(1s), 200U);
}

TEST(Hgrm, EndsAtTheMaximumWithTheTotal) {
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) {
    histogram.add(std::chrono::milliseconds{i});
  }
  const auto text = to_hgrm(histogram);
  EXPECT_TRUE(text.contains("1000.000 1.000000000000       1000\n")) << text.substr(text.size() - 400);
  EXPECT_TRUE(text.contains("#[Max     =     1000.000, Total count    =         1000]"));
}

}  // namespace
}  // namespace outrigger::load
