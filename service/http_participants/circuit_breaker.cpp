#include "service/http_participants/circuit_breaker.h"

#include <algorithm>

namespace outrigger::http_participants {

std::optional<CircuitBreaker::Permit> CircuitBreaker::admit(MonotonicTime now) {
  if (state_ == State::kClosed) {
    return Permit{period_};
  }
  if (now < retry_at_) {
    return std::nullopt;
  }
  if (state_ == State::kOpen) {
    enter(State::kHalfOpen);
  }
  retry_at_ = now + settings_.open_for;
  return Permit{period_};
}

void CircuitBreaker::succeeded(Permit permit) {
  if (permit.period != period_) {
    return;
  }
  failures_ = 0;
  if (state_ == State::kHalfOpen) {
    open_for_ = open_for_.zero();
    enter(State::kClosed);
  }
}

void CircuitBreaker::failed(Permit permit, MonotonicTime now) {
  if (permit.period != period_ || state_ == State::kOpen) {
    return;
  }
  if (state_ == State::kClosed && ++failures_ < settings_.failures_to_open) {
    return;
  }
  open_for_ = std::clamp(open_for_ * 2, settings_.open_for, std::max(settings_.open_for, settings_.max_open_for));
  retry_at_ = now + open_for_;
  enter(State::kOpen);
}

void CircuitBreaker::enter(State state) {
  state_ = state;
  failures_ = 0;
  ++period_;
}

}  // namespace outrigger::http_participants
