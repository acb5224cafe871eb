#pragma once

#include <chrono>
#include <functional>

namespace outrigger {

/// Wall-clock time as it is stored and sent: UTC, milliseconds.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// Where a component reads the wall clock; tests pass their own.
using WallClock = std::function<WallTime()>;

/// Deadlines and waits inside a process: never moved by clock steps.
using MonotonicTime = std::chrono::steady_clock::time_point;

[[nodiscard]] inline WallTime wall_now() { return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now()); }

}  // namespace outrigger
