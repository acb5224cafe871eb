#include "lib/telemetry/metrics.h"

#include <gtest/gtest.h>

#include <thread>

namespace outrigger::telemetry {
namespace {

TEST(Counter, SumsOverThreads) {
  Registry registry;
  auto& counter = registry.counter({"c_total", "C."});
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        counter.add();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(counter.value(), 16'000U);
}

TEST(Registry, SameNameAndLabelsAreTheSameMetric) {
  Registry registry;
  EXPECT_EQ(&registry.counter({"c_total", "C."}, {{"a", "1"}}), &registry.counter({"c_total", "C."}, {{"a", "1"}}));
  EXPECT_NE(&registry.counter({"c_total", "C."}, {{"a", "1"}}), &registry.counter({"c_total", "C."}, {{"a", "2"}}));
}

TEST(Registry, BoundsTheSeriesOfAFamily) {
  Registry registry;
  for (std::size_t i = 0; i < Registry::kMaxSeries + 10; ++i) {
    registry.counter({"c_total", "C."}, {{"a", std::to_string(i)}}).add();
  }
  EXPECT_EQ(registry.counter({"c_total", "C."}, {{"a", "overflow"}}).value(), 10U);
}

TEST(Registry, ReadsTheSeriesThatComeAndGoWhenScraped) {
  Registry registry;
  std::vector<std::pair<Labels, double>> now{{{{"a", "1"}}, 5}};
  registry.gauge_family_function({"g", "G."}, [&] { return now; });
  const auto family = [&] {
    const auto families = registry.Collect();
    return *std::ranges::find(families, std::string("g"), &prometheus::MetricFamily::name);
  };
  ASSERT_EQ(family().metric.size(), 1U);
  EXPECT_EQ(family().metric[0].gauge.value, 5);
  now.clear();
  EXPECT_TRUE(family().metric.empty());
}

TEST(RegistryDeathTest, AMetricDeclaredTwiceDifferentlyEndsTheProcess) {
  Registry registry;
  registry.counter({"c_total", "C."});
  EXPECT_DEATH(registry.gauge({"c_total", "C."}), "declared twice");
}

TEST(Histogram, CountsAValueOnABoundInItsBucket) {
  const std::array bounds{0.12, 1.0};
  Histogram histogram(bounds);
  histogram.observe(std::chrono::milliseconds{120});
  histogram.observe(2.0);
  const auto snapshot = histogram.snapshot();
  EXPECT_EQ(snapshot.cumulative_counts, (std::vector<std::uint64_t>{1, 1, 2}));
}

}  // namespace
}  // namespace outrigger::telemetry
