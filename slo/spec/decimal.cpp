#include "slo/spec/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <format>

namespace outrigger::slo {
namespace {

constexpr std::size_t kDigitsBefore = 6;
constexpr std::size_t kDigitsAfter = 9;

bool all_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(power, std::int64_t{10}, &power)) {
      impossible("a decimal of an SLO does not fit in 64 bits");
    }
  }
  return power;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    impossible("a decimal of an SLO does not fit in 64 bits");
  }
  return product;
}

}  // namespace

Result<Decimal> Decimal::parse(std::string_view text) {
  const auto point = std::min(text.find('.'), text.size());
  const auto before = text.substr(0, point);
  const auto after = point == text.size() ? std::string_view{} : text.substr(point + 1);
  if (before.empty() || before.size() > kDigitsBefore || after.size() > kDigitsAfter || (point != text.size() && after.empty()) ||
      !all_digits(before) || !all_digits(after)) {
    return fail(ErrorCode::kInvalidArgument,
                std::format("'{}' is not a decimal number such as 0.99995 (at most {} digits after the point)", text, kDigitsAfter));
  }
  const auto digits = std::string(before) + std::string(after);
  std::int64_t units = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), units);
  return of(units, static_cast<int>(after.size()));
}

Decimal Decimal::of(std::int64_t units, int scale) {
  while (scale > 0 && units % 10 == 0) {
    units /= 10;
    --scale;
  }
  return {units, scale};
}

std::string Decimal::to_string() const {
  const auto power = power_of_ten(scale_);
  return scale_ == 0 ? std::to_string(units_) : std::format("{}.{:0{}}", units_ / power, units_ % power, scale_);
}

double Decimal::to_double() const { return static_cast<double>(units_) / std::pow(10.0, scale_); }

Decimal Decimal::operator*(const Decimal& other) const { return of(times(units_, other.units_), scale_ + other.scale_); }

Decimal Decimal::complement() const {
  const auto one = power_of_ten(scale_);
  if (units_ > one) {
    impossible("the complement of a decimal above 1", to_string());
  }
  return of(one - units_, scale_);
}

Decimal Decimal::from_percent() const { return of(units_, scale_ + 2); }

Decimal Decimal::to_percent() const { return *this * Decimal(100, 0); }

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  const int scale = std::max(scale_, other.scale_);
  return times(units_, power_of_ten(scale - scale_)) <=> times(other.units_, power_of_ten(scale - other.scale_));
}

}  // namespace outrigger::slo
