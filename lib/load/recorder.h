#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "lib/load/histogram.h"

namespace outrigger::load {

enum class Outcome : std::uint8_t {
  kOk,         ///< an answer below 400, in time
  kHttpError,  ///< an answer of 400 or more
  kTransport,  ///< no connection, or it broke
  kTimeout,    ///< no whole answer in time
};

/// What one request came to.
struct Answer {
  Outcome outcome = Outcome::kTransport;
  int status = 0;  ///< 0: there was no answer
};

/// What happened to the requests that were meant to start in one window of time.
struct Window {
  std::chrono::nanoseconds start{0};  ///< after the start of the run
  std::uint64_t sent = 0;
  std::uint64_t ok = 0;
  std::uint64_t http_errors = 0;
  std::uint64_t transport_errors = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t late = 0;     ///< started more than the tolerance after their time
  std::uint64_t dropped = 0;  ///< never started
  Histogram from_intended;    ///< of all that were sent, whatever came of them

  [[nodiscard]] std::uint64_t failed() const { return http_errors + transport_errors + timeouts; }
  void merge(const Window& other);
};

/// Everything measured so far.
struct Measurements {
  Window all;
  Histogram from_actual;                  ///< latency from the moment the request really started
  std::map<int, std::uint64_t> statuses;  ///< answers by HTTP status
  std::vector<Window> series;             ///< ascending, without gaps, by intended start
  std::chrono::nanoseconds last_start{0};

  /// The sum of the windows that lie wholly in [from, to).
  [[nodiscard]] Window between(std::chrono::nanoseconds from, std::chrono::nanoseconds to) const;
  std::chrono::nanoseconds window{std::chrono::seconds{1}};
};

/// Collects what workers measure. Thread-safe. All times are after the start of the run.
class Recorder final {
 public:
  /// `window`: length of the series' windows; `late_after`: tolerance of a start.
  Recorder(std::chrono::nanoseconds window, std::chrono::nanoseconds late_after);

  void sent(std::chrono::nanoseconds intended, std::chrono::nanoseconds started, std::chrono::nanoseconds ended, const Answer& answer);
  void dropped(std::chrono::nanoseconds intended);

  [[nodiscard]] Measurements snapshot() const;

 private:
  Window& window_of(std::chrono::nanoseconds intended);

  const std::chrono::nanoseconds late_after_;
  mutable std::mutex mutex_;
  Measurements measured_;
};

}  // namespace outrigger::load
