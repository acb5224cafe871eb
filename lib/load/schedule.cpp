#include "lib/load/schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <format>
#include <iterator>
#include <random>
#include <ranges>

#include "lib/runtime/duration.h"

namespace outrigger::load {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kMostRequests = 100'000;

/// How many i have floor(i·interval/requests) < span, that is i·interval < span·requests. Whole intervals and the rest are computed
/// apart, so that no product leaves 64 bits: the rest is at most 1e5 · 3.6e12.
std::uint64_t requests_before(const Rate& rate, nanoseconds span) {
  const auto interval = static_cast<std::uint64_t>(rate.interval.count());
  const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(0, span.count()));
  const auto rest = whole % interval * rate.requests;
  return whole / interval * rate.requests + (rest + interval - 1) / interval;
}

/// Gaps by inversion, from the generator's top 53 bits: the standard's distribution may differ from library to library. A Poisson
/// process has no memory, so each stage begins anew.
std::vector<nanoseconds> poisson_starts(const Profile& profile) {
  std::mt19937_64 random(profile.seed);
  std::vector<nanoseconds> starts;
  double begin = 0;
  for (const auto& stage : profile.stages) {
    const double end = begin + std::chrono::duration<double, std::nano>(stage.duration).count();
    const double mean_gap = 1e9 / stage.rate.per_second();
    for (double at = begin;;) {
      const double uniform = static_cast<double>(random() >> 11U) * 0x1p-53;
      at -= std::log1p(-uniform) * mean_gap;
      if (at >= end) {
        break;
      }
      starts.emplace_back(static_cast<std::int64_t>(at));
    }
    begin = end;
  }
  return starts;
}

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

Result<std::vector<Stage>> parse_staircase(std::string_view text) {
  std::vector<Stage> stages;
  for (const auto part : std::views::split(text, ',')) {
    const std::string_view stage(part);
    const auto at = stage.find('@');
    if (at == std::string_view::npos) {
      return fail(ErrorCode::kInvalidArgument, std::format("'{}' is no stage: write a rate and how long, such as 50/s@30s,100/s@30s", stage));
    }
    const auto rate = parse_rate(stage.substr(0, at));
    const auto duration = parse_duration(stage.substr(at + 1));
    if (!rate || !duration) {
      return std::unexpected(!rate ? rate.error() : duration.error());
    }
    if (*duration <= std::chrono::nanoseconds{0} || *duration % std::chrono::seconds{1} != std::chrono::nanoseconds{0}) {
      return fail(ErrorCode::kInvalidArgument, std::format("stage '{}': give whole seconds, such as 50/s@30s", stage));
    }
    stages.push_back({.rate = *rate, .duration = *duration});
  }
  if (stages.empty() || stages.size() > kMostStages) {
    return fail(ErrorCode::kInvalidArgument, std::format("{} stages: give 1 to {}, such as 50/s@30s,100/s@30s", stages.size(), kMostStages));
  }
  return stages;
}

std::chrono::nanoseconds Profile::duration() const {
  std::chrono::nanoseconds sum{0};
  for (const auto& stage : stages) {
    sum += stage.duration;
  }
  return sum;
}

double Profile::expected_requests() const {
  double sum = 0;
  for (const auto& stage : stages) {
    sum += stage.rate.per_second() * std::chrono::duration<double>(stage.duration).count();
  }
  return sum;
}

Schedule::Schedule(Rate rate, std::chrono::nanoseconds duration, std::uint64_t most)
    : Schedule(Profile{.stages = {{.rate = rate, .duration = duration}}}, most) {}

Schedule::Schedule(const Profile& profile, std::uint64_t most) {
  if (profile.arrival == Arrival::kPoisson) {
    starts_ = std::make_shared<const std::vector<nanoseconds>>(poisson_starts(profile));
    total_ = starts_->size();
  } else {
    nanoseconds start{0};
    for (const auto& stage : profile.stages) {
      segments_.push_back({.rate = stage.rate, .start = start, .first = total_, .count = requests_before(stage.rate, stage.duration)});
      total_ += segments_.back().count;
      start += stage.duration;
    }
  }
  if (most != 0) {
    total_ = std::min(total_, most);
  }
}

nanoseconds Schedule::intended(std::uint64_t index) const {
  if (starts_) {
    return (*starts_)[index];
  }
  const auto after = std::ranges::upper_bound(segments_, index, {}, &Segment::first);
  const auto& segment = *std::prev(after);
  const auto interval = static_cast<std::uint64_t>(segment.rate.interval.count());
  const auto within = index - segment.first;
  const auto at = within / segment.rate.requests * interval + within % segment.rate.requests * interval / segment.rate.requests;
  return segment.start + nanoseconds{static_cast<std::int64_t>(at)};
}

std::uint64_t Schedule::due(nanoseconds elapsed) const {
  if (elapsed.count() < 0) {
    return 0;
  }
  if (starts_) {
    return std::min(total_, static_cast<std::uint64_t>(std::ranges::upper_bound(*starts_, elapsed) - starts_->begin()));
  }
  const auto after = std::ranges::upper_bound(segments_, elapsed, {}, &Segment::start);
  if (after == segments_.begin()) {
    return 0;
  }
  const auto& segment = *std::prev(after);
  // intended <= elapsed is intended < elapsed + 1 ns.
  return std::min(total_, segment.first + std::min(segment.count, requests_before(segment.rate, elapsed - segment.start + nanoseconds{1})));
}

}  // namespace outrigger::load
