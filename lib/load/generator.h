#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/load/pacer.h"
#include "lib/load/recorder.h"
#include "lib/load/summary.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"

namespace outrigger::load {

/// One connection to the target. Used by one thread at a time.
class Sender {
 public:
  virtual ~Sender() = default;
  /// Sends request number `index` and waits for its whole answer or its timeout. Does not throw.
  virtual Answer send(std::uint64_t index) = 0;
};

/// Where a worker reads and waits for time. Tests pass their own.
class Pace {
 public:
  virtual ~Pace() = default;
  [[nodiscard]] virtual MonotonicTime now() = 0;
  /// Returns at `time`, or earlier when `stop` is requested.
  virtual void wait_until(MonotonicTime time, const std::stop_token& stop) = 0;
};

/// Real time: sleeps until shortly before, so that requests start within some tens of microseconds of their time.
[[nodiscard]] std::unique_ptr<Pace> real_pace();

struct LoadSettings {
  Rate rate{100, std::chrono::seconds{1}};
  std::chrono::nanoseconds duration{std::chrono::seconds{10}};
  std::vector<Stage> staircase;  ///< instead of rate and duration, when not empty
  Arrival arrival = Arrival::kConstant;
  std::uint64_t seed = 1;                                     ///< of Poisson arrival
  std::uint64_t max_requests = 0;                             ///< 0: as many as rate and duration give
  unsigned connections = 16;                                  ///< workers, each with its own connection
  std::uint64_t backlog = 1024;                               ///< due requests that may wait for a free worker
  std::chrono::nanoseconds timeout{std::chrono::seconds{5}};  ///< of a request; also how long the end waits for stragglers
  std::chrono::nanoseconds late_after{std::chrono::milliseconds{10}};
};

/// Longest run: the series keeps a window a second, and memory is bounded.
inline constexpr std::chrono::hours kLongestRun{1};

[[nodiscard]] Profile profile_of(const LoadSettings& settings);

/// Errors: kInvalidArgument when a setting is out of its bounds.
[[nodiscard]] Result<void> validate(const LoadSettings& settings);

/// One worker: claims, waits, sends and records until the schedule is used up, `stop` is requested or `hard_end` has passed.
/// The body of every thread of run(); apart, so that tests drive it with their own time.
void run_worker(Pacer& pacer, Sender& sender, Recorder& recorder, Pace& pace, MonotonicTime start, MonotonicTime hard_end,
                const std::stop_token& stop);

/// Runs the load with `connections` threads and returns when it is over. `progress`, if any, can be asked for a snapshot from other threads
/// while it runs: it is the recorder that is used. `make_sender` is called once a worker, in the caller's thread.
[[nodiscard]] Summary run(const LoadSettings& settings, const std::function<std::unique_ptr<Sender>()>& make_sender, Recorder& recorder,
                          MonotonicTime start, const std::stop_token& stop);

}  // namespace outrigger::load
