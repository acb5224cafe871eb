#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

/// A rate that is kept for a time.
struct Stage {
  Rate rate;
  std::chrono::nanoseconds duration{std::chrono::seconds{10}};
};

/// Reads "50/s@30s,100/s@30s,200/s@1m": at most kMostStages, each of whole seconds, since results are kept by the second.
/// Errors: kInvalidArgument with an example.
[[nodiscard]] Result<std::vector<Stage>> parse_staircase(std::string_view text);
inline constexpr std::size_t kMostStages = 100;

enum class Arrival : std::uint8_t {
  kConstant,  ///< evenly spread
  kPoisson,   ///< independent of one another, as users are: exponential gaps, from a seed
};

/// What a run offers: stages one after the other.
struct Profile {
  std::vector<Stage> stages;
  Arrival arrival = Arrival::kConstant;
  std::uint64_t seed = 1;  ///< Poisson: the same seed gives the same starts

  [[nodiscard]] std::chrono::nanoseconds duration() const;
  [[nodiscard]] double expected_requests() const;
};

/// Starts of a Poisson profile are kept in memory, 8 bytes each.
inline constexpr double kMostPoissonRequests = 4e6;

/// When each request of a run is meant to start, ascending. Pure.
///
/// Constant: in each stage request i starts i·interval/requests after the stage's beginning, rounded down, while that is before its end.
class Schedule final {
 public:
  /// `most`: an upper limit of the number of requests; 0 is none.
  Schedule(Rate rate, std::chrono::nanoseconds duration, std::uint64_t most = 0);
  explicit Schedule(const Profile& profile, std::uint64_t most = 0);

  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// After the start of the run; index < total().
  [[nodiscard]] std::chrono::nanoseconds intended(std::uint64_t index) const;
  /// How many requests are meant to have started at `elapsed`: those with intended(i) <= elapsed.
  [[nodiscard]] std::uint64_t due(std::chrono::nanoseconds elapsed) const;

 private:
  /// A stage with constant arrival.
  struct Segment {
    Rate rate;
    std::chrono::nanoseconds start{0};
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  std::vector<Segment> segments_;
  std::shared_ptr<const std::vector<std::chrono::nanoseconds>> starts_;  ///< Poisson; shared, for a schedule is copied
  std::uint64_t total_ = 0;
};

}  // namespace outrigger::load
