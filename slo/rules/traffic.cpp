#include "slo/rules/traffic.h"

#include <algorithm>
#include <format>

namespace outrigger::slo {
namespace {

/// Rules of windows of a day and more are evaluated every 2 minutes over points 5 minutes apart.
constexpr int kLongestLag = 8;
constexpr int kShortLag = 1;
constexpr double kMargin = 0.01;

}  // namespace

int Traffic::minutes() const {
  int total = 0;
  for (const auto& phase : phases_) {
    total += phase.minutes;
  }
  return total;
}

std::string Traffic::counter(Count what) const {
  std::string out;
  std::int64_t value = 0;
  for (const auto& phase : phases_) {
    const auto step = (what != Count::kBad ? phase.good_per_minute : 0) + (what != Count::kGood ? phase.bad_per_minute : 0);
    value = phase.resets_counters ? 0 : value;
    // The first phase has one sample more: minute 0.
    out += out.empty() ? std::format("{}+{}x{}", value, step, phase.minutes) : std::format(" {}+{}x{}", value + step, step, phase.minutes - 1);
    value += step * phase.minutes;
  }
  return out;
}

Traffic::Sum Traffic::sum(int end, int length) const {
  Sum sum;
  int begin_of_phase = 0;
  for (const auto& phase : phases_) {
    const int from = std::max(begin_of_phase, end - length);
    const int to = std::min(begin_of_phase + phase.minutes, end);
    const auto minutes = static_cast<double>(std::max(0, to - from));
    sum.bad += minutes * static_cast<double>(phase.bad_per_minute);
    sum.all += minutes * static_cast<double>(phase.bad_per_minute + phase.good_per_minute);
    begin_of_phase += phase.minutes;
  }
  return sum;
}

Traffic::Firing Traffic::expected(const Slo& slo, const BurnRate& rate, int minute) const {
  const double limit = threshold(rate, slo).to_double();
  const auto least = static_cast<double>(slo.min_bad_events);
  const auto lag_of = [](int window) { return window >= 24 * 60 ? kLongestLag : kShortLag; };
  bool surely = true;
  bool never = false;
  // A condition is clear when it holds, or fails, for every moment at which its window may have been evaluated.
  const auto condition = [&](int window, const auto& share) {
    double lowest = 1e300;
    double highest = 0;
    for (int lag = 0; lag <= lag_of(window); ++lag) {
      const auto value = share(sum(minute - lag, window));
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
    }
    surely = surely && lowest >= 1 + kMargin;
    never = never || highest <= 1 - kMargin;
  };
  const auto ratio = [limit](const Sum& s) { return s.all > 0 ? s.bad / s.all / limit : 0; };
  condition(rate.long_minutes, ratio);
  condition(rate.short_minutes, ratio);
  condition(rate.long_minutes, [least](const Sum& s) { return s.bad / least; });
  return surely ? Firing::kYes : never ? Firing::kNo : Firing::kUnclear;
}

}  // namespace outrigger::slo
