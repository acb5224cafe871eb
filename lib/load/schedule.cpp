#include "lib/load/schedule.h"

#include <algorithm>
#include <charconv>
#include <format>

namespace outrigger::load {
namespace {

constexpr std::uint64_t kMostRequests = 100'000;

}  // namespace

double Rate::per_second() const { return static_cast<double>(requests) / std::chrono::duration<double>(interval).count(); }

Result<Rate> parse_rate(std::string_view text) {
  Rate rate;
  const auto* const begin = text.data();  // NOLINT(bugprone-suspicious-stringview-data-usage): from_chars takes both ends
  const auto* const end = begin + text.size();
  const auto [stopped, problem] = std::from_chars(begin, end, rate.requests);
  const std::string_view unit(stopped, end);
  if (unit == "/m") {
    rate.interval = std::chrono::minutes{1};
  } else if (unit == "/h") {
    rate.interval = std::chrono::hours{1};
  }
  if (problem != std::errc{} || rate.requests == 0 || rate.requests > kMostRequests ||
      (!unit.empty() && unit != "/s" && unit != "/m" && unit != "/h")) {
    return fail(ErrorCode::kInvalidArgument,
                std::format("'{}' is not a rate: write a whole number from 1 to {} and /s, /m or /h, such as 200/s or 30/m", text, kMostRequests));
  }
  return rate;
}

std::string format_rate(const Rate& rate) {
  return std::format("{}/{}", rate.requests, rate.interval == std::chrono::hours{1} ? "h" : rate.interval == std::chrono::minutes{1} ? "m" : "s");
}

// Whole intervals and the rest are computed apart, so that no product leaves 64 bits: the rest is at most 1e5 · 3.6e12.
Schedule::Schedule(Rate rate, std::chrono::nanoseconds duration, std::uint64_t most) : rate_(rate) {
  const auto interval = static_cast<std::uint64_t>(rate_.interval.count());
  const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
  const auto rest = span % interval * rate_.requests;
  total_ = span / interval * rate_.requests + (rest + interval - 1) / interval;
  if (most != 0) {
    total_ = std::min(total_, most);
  }
}

std::chrono::nanoseconds Schedule::intended(std::uint64_t index) const {
  const auto interval = static_cast<std::uint64_t>(rate_.interval.count());
  const auto at = index / rate_.requests * interval + index % rate_.requests * interval / rate_.requests;
  return std::chrono::nanoseconds{static_cast<std::int64_t>(at)};
}

std::uint64_t Schedule::due(std::chrono::nanoseconds elapsed) const {
  if (elapsed.count() < 0) {
    return 0;
  }
  const auto interval = static_cast<std::uint64_t>(rate_.interval.count());
  const auto span = static_cast<std::uint64_t>(elapsed.count());
  // floor(i·interval/requests) <= rest  <=>  i·interval < (rest + 1)·requests
  const auto rest = (span % interval + 1) * rate_.requests;
  return std::min(total_, span / interval * rate_.requests + (rest + interval - 1) / interval);
}

}  // namespace outrigger::load
