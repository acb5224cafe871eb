#include "lib/load/pacer.h"

#include <algorithm>

namespace outrigger::load {

std::optional<Pacer::Claim> Pacer::claim(std::chrono::nanoseconds elapsed) {
  const auto due = schedule_.due(elapsed);
  const std::lock_guard lock(mutex_);
  Claim claim;
  claim.dropped_from = next_;
  if (stopped_ || next_ >= schedule_.total()) {
    return std::nullopt;
  }
  if (due > next_ + backlog_) {
    next_ = std::min(due - backlog_, schedule_.total() - 1);
  }
  claim.index = next_++;
  claim.intended = schedule_.intended(claim.index);
  return claim;
}

Pacer::Rest Pacer::stop(std::chrono::nanoseconds elapsed) {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  const auto from = next_;
  return {from, std::max(from, schedule_.due(elapsed))};
}

}  // namespace outrigger::load
