#include "lib/runtime/duration.h"

#include <gtest/gtest.h>

namespace outrigger {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsEveryUnitAndSums) {
  EXPECT_EQ(parse_duration("300ms").value(), 300ms);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(parse_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_duration("7d").value(), 168h);
  EXPECT_EQ(parse_duration("5us").value(), 5us);
  EXPECT_EQ(parse_duration("0").value(), 0ns);
}

TEST(Duration, RefusesWhatHasNoUnitOrIsNegativeAndShowsAnExample) {
  for (const auto* text : {"", "5", "-5s", "s", "5 s", "5x", "1e3s", "nan", "5s5"}) {
    const auto result = parse_duration(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_TRUE(result.error().message.contains("300ms")) << result.error().message;
  }
}

TEST(Duration, RefusesMoreThanItCanHold) { EXPECT_FALSE(parse_duration("999999999999h").has_value()); }

TEST(Duration, FormatsWhatItReads) {
  for (const auto* text : {"300ms", "1m30s", "7d", "1h1ms", "1s500ms", "5us", "3ns"}) {
    EXPECT_EQ(format_duration(parse_duration(text).value()), text);
  }
  EXPECT_EQ(format_duration(0ns), "0s");
}

}  // namespace
}  // namespace outrigger
