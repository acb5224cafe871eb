#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/runtime/error.h"

namespace outrigger::slo {

/// A non-negative decimal number, exact: 99.995 % and the budget of 0.005 % it leaves have no binary form, and a threshold that is
/// printed as 0.0007199999999999 cannot be reviewed. Value: units / 10^scale, without trailing zeros.
class Decimal final {
 public:
  constexpr Decimal() = default;

  /// Reads "0.99995", "14.4" or "1": at most 9 digits after the point and 6 before. No sign, no exponent.
  /// Errors: kInvalidArgument.
  [[nodiscard]] static Result<Decimal> parse(std::string_view text);
  /// `units` / 10^scale.
  [[nodiscard]] static Decimal of(std::int64_t units, int scale);

  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] double to_double() const;  ///< for choosing test data, never for rules

  [[nodiscard]] Decimal operator*(const Decimal& other) const;
  [[nodiscard]] Decimal complement() const;    ///< 1 - this; this <= 1
  [[nodiscard]] Decimal from_percent() const;  ///< this / 100
  [[nodiscard]] Decimal to_percent() const;    ///< this * 100
  [[nodiscard]] std::strong_ordering operator<=>(const Decimal& other) const;
  [[nodiscard]] bool operator==(const Decimal& other) const = default;

 private:
  Decimal(std::int64_t units, int scale) : units_(units), scale_(scale) {}

  std::int64_t units_ = 0;
  int scale_ = 0;
};

}  // namespace outrigger::slo
