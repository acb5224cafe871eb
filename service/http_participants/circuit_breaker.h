#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lib/runtime/clock.h"

namespace outrigger::http_participants {

/// Keeps requests away from a server that fails, and finds out by single probes when it is back.
///
/// Closed until `failures_to_open` requests have failed in a row; open (nothing passes) for `open_for`; then half-open: one probe
/// passes, and another every `open_for` for as long as none has answered. A probe that succeeds closes it, one that fails opens it
/// for twice as long as before, up to `max_open_for`. Pure: time is a parameter. Not thread-safe.
class CircuitBreaker final {
 public:
  enum class State : std::uint8_t { kClosed, kHalfOpen, kOpen };  ///< as the metric shows them: 0, 1, 2

  struct Settings {
    std::uint32_t failures_to_open = 5;
    std::chrono::milliseconds open_for{1'000};
    std::chrono::milliseconds max_open_for{30'000};
  };

  /// Goes out with a request and comes back with its result. What was sent before the state last changed says nothing about now.
  struct Permit {
    std::uint64_t period = 0;
  };

  explicit CircuitBreaker(Settings settings) : settings_(settings) {}

  /// Nothing: do not send before retry_at().
  [[nodiscard]] std::optional<Permit> admit(MonotonicTime now);
  void succeeded(Permit permit);
  void failed(Permit permit, MonotonicTime now);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] MonotonicTime retry_at() const { return retry_at_; }  ///< of the next probe, while not closed

 private:
  void enter(State state);

  Settings settings_;
  State state_ = State::kClosed;
  std::uint64_t period_ = 0;
  std::uint32_t failures_ = 0;             ///< in a row, while closed
  std::chrono::milliseconds open_for_{0};  ///< the last time
  MonotonicTime retry_at_{};
};

}  // namespace outrigger::http_participants
