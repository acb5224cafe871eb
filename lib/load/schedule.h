#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/runtime/error.h"

namespace outrigger::load {

/// `requests` in every `interval`, evenly spread. Kept as two whole numbers: no rounding adds up over a long run.
struct Rate {
  std::uint64_t requests = 1;
  std::chrono::nanoseconds interval{std::chrono::seconds{1}};

  [[nodiscard]] double per_second() const;
};

/// Reads "200/s", "90/m", "5/h" or "200" (a second). At least 1, at most 100000 in the interval.
/// Errors: kInvalidArgument with an example.
[[nodiscard]] Result<Rate> parse_rate(std::string_view text);
[[nodiscard]] std::string format_rate(const Rate& rate);

/// When each request of a run is meant to start: request i at i·interval/requests, rounded down, while that is before the end. Pure.
class Schedule final {
 public:
  /// `most`: an upper limit of the number of requests; 0 is none.
  Schedule(Rate rate, std::chrono::nanoseconds duration, std::uint64_t most = 0);

  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// After the start of the run.
  [[nodiscard]] std::chrono::nanoseconds intended(std::uint64_t index) const;
  /// How many requests are meant to have started at `elapsed`: those with intended(i) <= elapsed.
  [[nodiscard]] std::uint64_t due(std::chrono::nanoseconds elapsed) const;

 private:
  Rate rate_;
  std::uint64_t total_;
};

}  // namespace outrigger::load
