#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/load/schedule.h"

namespace outrigger::load {

/// Hands out the requests of a schedule, in order, each once. Thread-safe.
///
/// The backlog is what is due and not handed out. It is bounded: when more than `backlog` requests wait, the oldest are dropped
/// and counted, because a generator that catches up later offers a burst that nobody asked for.
class Pacer final {
 public:
  struct Claim {
    std::uint64_t index = 0;
    std::chrono::nanoseconds intended{0};  ///< after the start; may be in the future: wait for it
    std::uint64_t dropped_from = 0;        ///< the indexes [dropped_from, index) were dropped by this claim
  };

  Pacer(Schedule schedule, std::uint64_t backlog) : schedule_(std::move(schedule)), backlog_(backlog) {}

  /// The next request for a worker that is free at `elapsed`; nothing when all are handed out.
  [[nodiscard]] std::optional<Claim> claim(std::chrono::nanoseconds elapsed);

  /// Hands out nothing more. Returns the first index that was never handed out; those from it to `end` are dropped,
  /// where `end` is what was due at `elapsed`.
  struct Rest {
    std::uint64_t from = 0;
    std::uint64_t end = 0;
  };
  [[nodiscard]] Rest stop(std::chrono::nanoseconds elapsed);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }

 private:
  const Schedule schedule_;
  const std::uint64_t backlog_;
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace outrigger::load
