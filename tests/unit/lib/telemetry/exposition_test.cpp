#include "lib/telemetry/exposition.h"

#include <gtest/gtest.h>

#include "lib/telemetry/metrics.h"

namespace outrigger::telemetry {
namespace {

TEST(Exposition, WritesCountersGaugesAndHistogramsInPrometheusText) {
  Registry registry;
  registry.counter({"requests_total", "Requests."}, {{"code", "200"}}).add(3);
  registry.gauge({"active", "Active."}).set(1.5);
  registry.histogram({"latency_seconds", "Latency."}, std::array{0.1, 1.0}).observe(0.1);
  const auto text = serialize(registry.Collect(), ExpositionFormat::kPrometheusText);
  EXPECT_TRUE(text.contains("# TYPE requests_total counter\nrequests_total{code=\"200\"} 3\n")) << text;
  EXPECT_TRUE(text.contains("active 1.5\n")) << text;
  EXPECT_TRUE(text.contains("latency_seconds_bucket{le=\"0.1\"} 1\nlatency_seconds_bucket{le=\"1.0\"} 1\nlatency_seconds_bucket{le=\"+Inf\"} 1\n"))
      << text;
  EXPECT_TRUE(text.contains("latency_seconds_sum 0.1\nlatency_seconds_count 1\n")) << text;
}

TEST(Exposition, OpenMetricsDropsTheSuffixOfTheFamilyAndEnds) {
  Registry registry;
  registry.counter({"requests_total", "Requests."}).add();
  const auto text = serialize(registry.Collect(), ExpositionFormat::kOpenMetrics);
  EXPECT_TRUE(text.contains("# TYPE requests counter\nrequests_total 1\n")) << text;
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(Exposition, EscapesLabelValues) {
  Registry registry;
  registry.gauge({"g", "G."}, {{"l", "a\"b\\c\nd"}}).set(1);
  EXPECT_TRUE(serialize(registry.Collect(), ExpositionFormat::kPrometheusText).contains(R"(g{l="a\"b\\c\nd"} 1)"));
}

TEST(Exposition, PicksTheFormatFromAccept) {
  EXPECT_EQ(negotiate("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"), ExpositionFormat::kOpenMetrics);
  EXPECT_EQ(negotiate("text/plain"), ExpositionFormat::kPrometheusText);
  EXPECT_EQ(negotiate(""), ExpositionFormat::kPrometheusText);
}

}  // namespace
}  // namespace outrigger::telemetry
