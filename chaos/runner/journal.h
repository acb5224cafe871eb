#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"

namespace outrigger::chaos {

/// The log of a run: one JSON object a line, each synced to the disk before append() returns, so that every effect has an intent that outlives
/// the runner. The life of a fault: intent, applied, proven, reverting, reverted, verified; the run: start, phase, guardrail, end.
///
/// The file is locked (flock) while it is open: `recover` cannot work beside the run. Not thread-safe.
class Journal final {
 public:
  /// Makes a new file. Errors: kAlreadyExists, kUnavailable with the system's reason.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> create(const std::string& path, std::string run_id, WallClock clock = wall_now);

  /// Opens the journal of an earlier run to add to it; a last line that was not wholly written is cut off.
  /// Errors: kNotFound; kFailedPrecondition while its run still goes on; kInvalidArgument when it is no journal.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> reopen(const std::string& path, WallClock clock = wall_now);

  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Adds {"seq", "at", "run", "event", fields…} and syncs. Errors: kUnavailable; then the effect must not happen.
  [[nodiscard]] Result<void> append(std::string_view event, const nlohmann::ordered_json& fields);

  /// The same for an entry that nothing waits for: clean-up goes on without its journal, for a fault that stays armed is worse than a missing line.
  void note(std::string_view event, const nlohmann::ordered_json& fields);
  [[nodiscard]] std::uint64_t lost() const { return lost_; }  ///< notes that could not be written

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }
  /// What it held when it was reopened.
  [[nodiscard]] const std::string& earlier() const { return earlier_; }

 private:
  Journal(int fd, std::string path, std::string run_id, WallClock clock);

  int fd_;
  std::string path_;
  std::string run_id_;
  std::string earlier_;
  std::uint64_t sequence_ = 0;
  std::uint64_t lost_ = 0;
  WallClock clock_;
};

}  // namespace outrigger::chaos
