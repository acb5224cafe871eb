#include "lib/runtime/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <format>

namespace outrigger {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

constexpr std::array kUnits{Unit{"d", 86'400'000'000'000},
                            Unit{"h", 3'600'000'000'000},
                            Unit{"m", 60'000'000'000},
                            Unit{"s", 1'000'000'000},
                            Unit{"ms", 1'000'000},
                            Unit{"us", 1'000},
                            Unit{"ns", 1}};

std::unexpected<Error> malformed(std::string_view text) {
  return fail(ErrorCode::kInvalidArgument, std::format("'{}' is not a duration: write a number and a unit, such as 300ms, 1.5s, 2m or 1h30m", text));
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  if (text == "0") {
    return std::chrono::nanoseconds{0};
  }
  if (text.empty()) {
    return malformed(text);
  }
  double total = 0;
  for (std::string_view rest = text; !rest.empty();) {
    double number = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (problem != std::errc{} || !(number >= 0) || rest.front() == '-') {
      return malformed(text);
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const auto letters = rest.substr(0, rest.find_first_of("0123456789."));
    const auto unit = std::ranges::find(kUnits, letters, &Unit::name);
    if (unit == kUnits.end()) {
      return malformed(text);
    }
    rest.remove_prefix(letters.size());
    total += number * static_cast<double>(unit->nanoseconds);
  }
  if (total > 9e18) {
    return fail(ErrorCode::kInvalidArgument, std::format("'{}' is longer than a duration can be (292 years)", text));
  }
  return std::chrono::nanoseconds{std::llround(total)};
}

std::string format_duration(std::chrono::nanoseconds duration) {
  if (duration.count() == 0) {
    return "0s";
  }
  std::string text;
  auto rest = duration.count();
  for (const auto& unit : kUnits) {
    if (const auto whole = rest / unit.nanoseconds; whole != 0) {
      text += std::format("{}{}", whole, unit.name);
      rest %= unit.nanoseconds;
    }
  }
  return text;
}

}  // namespace outrigger
