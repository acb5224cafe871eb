#include "slo/spec/decimal.h"

#include <gtest/gtest.h>

namespace outrigger::slo {
namespace {

Decimal decimal(std::string_view text) { return Decimal::parse(text).value(); }

TEST(Decimal, KeepsWhatBinaryNumbersCannot) {
  EXPECT_EQ(decimal("99.995").from_percent().to_string(), "0.99995");
  EXPECT_EQ(decimal("0.99995").complement().to_string(), "0.00005");
  EXPECT_EQ((decimal("14.4") * decimal("0.00005")).to_string(), "0.00072");
  EXPECT_EQ((decimal("14.4") * decimal("0.001")).to_string(), "0.0144");
  EXPECT_EQ(decimal("0.0021").to_percent().to_string(), "0.21");
}

TEST(Decimal, WritesWithoutTrailingZeros) {
  EXPECT_EQ(decimal("1.500").to_string(), "1.5");
  EXPECT_EQ(decimal("10").to_string(), "10");
  EXPECT_EQ(decimal("0.0").to_string(), "0");
  EXPECT_EQ(decimal("1.50"), decimal("1.5"));
}

TEST(Decimal, ComparesAcrossScales) {
  EXPECT_LT(decimal("0.99995"), decimal("1"));
  EXPECT_GT(decimal("14.4"), decimal("6"));
  EXPECT_LE(decimal("1.0"), decimal("1"));
  EXPECT_LT(decimal("1"), decimal("999999.123456789"));
}

TEST(Decimal, RefusesSignsExponentsAndTooManyDigits) {
  for (const auto* text : {"", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0.1234567890", "1234567", "nan", "1.2.3", " 1"}) {
    EXPECT_FALSE(Decimal::parse(text)) << text;
  }
}

}  // namespace
}  // namespace outrigger::slo
