#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>

namespace outrigger {

/// Exit codes of the daemons (sysexits.h where it has a name). The command line adds its own.
namespace exit_code {
inline constexpr int kOk = 0;                 ///< stopped when told to, drained
inline constexpr int kUsage = 2;              ///< wrong flags
inline constexpr int kDrainDeadline = 3;      ///< stopped, but requests were still in flight at the deadline
inline constexpr int kCannotBind = 69;        ///< EX_UNAVAILABLE: a port or socket is taken
inline constexpr int kInternal = 70;          ///< EX_SOFTWARE
inline constexpr int kBadConfiguration = 78;  ///< EX_CONFIG: a restart with the same configuration fails again
}  // namespace exit_code

/// Turns SIGTERM and SIGINT into something `main` can wait for, and SIGPIPE into an error of write().
///
/// Make one before any thread starts: threads inherit the blocked signals. One per process.
class StopSignal final {
 public:
  StopSignal() : StopSignal(std::initializer_list<int>{}) {}
  /// `more` signals reach wait() too, e.g. SIGUSR2 for a kill switch; they mean what the caller makes of them.
  explicit StopSignal(std::initializer_list<int> more);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Waits for the next signal; returns its number. With a timeout, nothing when none came.
  int wait();
  std::optional<int> wait_for(std::chrono::milliseconds timeout);

 private:
  int signal_fd_;
};

}  // namespace outrigger
