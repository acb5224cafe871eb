#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "slo/rules/burn.h"
#include "slo/spec/slo.h"

namespace outrigger::slo {

/// Synthetic traffic, minute by minute: what a generated test feeds to the rules, and what the alerts ought to do with it, worked out
/// from the events themselves and not from the rules' expressions. Pure.
class Traffic final {
 public:
  struct Phase {
    int minutes = 0;
    std::int64_t good_per_minute = 0;
    std::int64_t bad_per_minute = 0;
    bool resets_counters = false;  ///< counters start from 0 again at its first minute
  };
  explicit Traffic(std::vector<Phase> phases) : phases_(std::move(phases)) {}

  [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }
  [[nodiscard]] int minutes() const;

  /// A counter of the good, the bad or all events in promtool's notation, one sample a minute from minute 0.
  enum class Count { kGood, kBad, kAll };
  [[nodiscard]] std::string counter(Count what) const;

  /// What a burn alert must say at `minute`. kUnclear within 1 % of a threshold, or where it depends on the minute at which a recorded
  /// window was last evaluated: nothing is asserted then.
  enum class Firing { kYes, kNo, kUnclear };
  [[nodiscard]] Firing expected(const Slo& slo, const BurnRate& rate, int minute) const;

 private:
  struct Sum {
    double bad = 0;
    double all = 0;
  };
  [[nodiscard]] Sum sum(int end, int length) const;

  std::vector<Phase> phases_;
};

}  // namespace outrigger::slo
