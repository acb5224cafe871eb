#include "slo/rules/traffic.h"

#include <gtest/gtest.h>

namespace outrigger::slo {
namespace {

Slo slo_with(std::string_view target) {
  Slo slo;
  slo.name = "x";
  slo.target = Decimal::parse(target).value();
  return slo;
}

using Firing = Traffic::Firing;

TEST(Traffic, WritesCountersThatGoOnAndReset) {
  const Traffic traffic({{10, 5, 1}, {4, 0, 2}, {3, 1, 0, true}});
  EXPECT_EQ(traffic.minutes(), 17);
  EXPECT_EQ(traffic.counter(Traffic::Count::kGood), "0+5x10 50+0x3 1+1x2");
  EXPECT_EQ(traffic.counter(Traffic::Count::kBad), "0+1x10 12+2x3 0+0x2");
  EXPECT_EQ(traffic.counter(Traffic::Count::kAll), "0+6x10 62+2x3 1+1x2");
}

TEST(Traffic, AnOutageFiresBothWindowsAndEndsWithTheShortOne) {
  const auto slo = slo_with("0.99995");
  const auto fast = burn_rates().front();
  const Traffic traffic({{180, 1000, 0}, {10, 0, 1000}, {300, 1000, 0}});
  EXPECT_EQ(traffic.expected(slo, fast, 179), Firing::kNo);
  EXPECT_EQ(traffic.expected(slo, fast, 190), Firing::kYes);
  EXPECT_EQ(traffic.expected(slo, fast, 198), Firing::kNo);
}

TEST(Traffic, IsUnclearRightAtAThreshold) {
  const auto slo = slo_with("0.99");
  const Traffic traffic({{180, 856'000, 144'000}});
  EXPECT_EQ(traffic.expected(slo, burn_rates().front(), 180), Firing::kUnclear);
}

TEST(Traffic, TooFewBadEventsFireNothing) {
  auto slo = slo_with("0.99995");
  const Traffic traffic({{120, 1, 0}, {5, 0, 1}});
  EXPECT_EQ(traffic.expected(slo, burn_rates().front(), 125), Firing::kNo);
  slo.min_bad_events = 1;
  EXPECT_EQ(traffic.expected(slo, burn_rates().front(), 125), Firing::kYes);
}

TEST(Traffic, NoTrafficBurnsNothing) { EXPECT_EQ(Traffic({{100, 0, 0}}).expected(slo_with("0.99"), burn_rates().front(), 100), Firing::kNo); }

}  // namespace
}  // namespace outrigger::slo
