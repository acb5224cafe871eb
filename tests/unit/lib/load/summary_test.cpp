#include "lib/load/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/load/report.h"

namespace outrigger::load {
namespace {

using namespace std::chrono_literals;

Summary summary_of(std::uint64_t sent, std::uint64_t dropped) {
  Summary summary;
  summary.target = "GET http://127.0.0.1:1/";
  summary.rate = {100, 1s};
  summary.planned = 10s;
  summary.elapsed = 10s;
  summary.offered = sent + dropped;
  summary.measured.all.sent = sent;
  summary.measured.all.ok = sent;
  summary.measured.all.dropped = dropped;
  summary.measured.last_start = 9900ms;
  return summary;
}

TEST(Validity, HoldsAtItsBoundsAndFailsBeyondThem) {
  EXPECT_TRUE(judge(summary_of(1000, 0)).valid());
  EXPECT_TRUE(judge(summary_of(999, 1)).valid());
  const auto dropping = judge(summary_of(998, 2));
  EXPECT_FALSE(dropping.valid());
  EXPECT_EQ(dropping.reasons.size(), 1U);
  EXPECT_EQ(judge(summary_of(980, 20)).reasons.size(), 2U);
}

TEST(Validity, SendingEverythingTooSlowlyIsNotTheOfferedRate) {
  auto summary = summary_of(1000, 0);
  summary.measured.last_start = 10'100ms;
  EXPECT_TRUE(judge(summary).valid());
  summary.measured.last_start = 10'200ms;
  EXPECT_FALSE(judge(summary).valid());
}

TEST(Validity, ABusyGeneratorMeasuresItself) {
  auto summary = summary_of(1000, 0);
  summary.cpu_ratio = 0.81;
  EXPECT_FALSE(judge(summary).valid());
}

TEST(Validity, NoRequestsAreNoLoad) { EXPECT_FALSE(judge(summary_of(0, 0)).valid()); }

TEST(Report, JsonHoldsTheCountsTheQuantilesAndTheSeries) {
  auto summary = summary_of(2, 0);
  summary.measured.statuses[200] = 2;
  summary.measured.all.from_intended.add(10ms);
  summary.measured.all.from_intended.add(20ms);
  Window window;
  window.sent = 2;
  summary.measured.series.push_back(window);
  const auto json = nlohmann::json::parse(to_json(summary, judge(summary)));
  EXPECT_EQ(json["requests"]["sent"], 2);
  EXPECT_EQ(json["statuses"]["200"], 2);
  EXPECT_DOUBLE_EQ(json["latency_from_intended_seconds"]["max"], 0.02);
  EXPECT_EQ(json["series"].size(), 1U);
  EXPECT_EQ(json["load"]["valid"], true);
}

TEST(Report, TableSaysWhyALoadIsNotValid) {
  const auto summary = summary_of(900, 100);
  const auto text = to_table(summary, judge(summary));
  EXPECT_TRUE(text.contains("NOT VALID"));
  EXPECT_TRUE(text.contains("dropped 10.000 % of the requests"));
  EXPECT_TRUE(to_table(summary_of(1000, 0), judge(summary_of(1000, 0))).contains("load: valid"));
}

TEST(Report, PicksTheUnitThatReadsBest) {
  EXPECT_EQ(readable(999ns), "999ns");
  EXPECT_EQ(readable(1500ns), "1.5us");
  EXPECT_EQ(readable(12'345'678ns), "12.35ms");
  EXPECT_EQ(readable(2s), "2s");
}

}  // namespace
}  // namespace outrigger::load
