#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "lib/runtime/error.h"

namespace outrigger {

/// Places where a test may have this process killed, between what must be atomic and what must come after it.
/// The one list of them: names, crash suite and refusals follow it.
enum class CrashPoint : std::uint8_t {
  kRestoreAfter,       ///< partitions restored, nothing sent again yet
  kCommitBefore,       ///< decided, not in the journal
  kCommitAfter,        ///< in the journal, nobody told
  kAcceptAfter,        ///< clients told, no command sent
  kDispatchBefore,     ///< about to hand a command over
  kDispatchAfter,      ///< a command handed over
  kEffectBefore,       ///< a participant is about to do a step
  kEffectAfter,        ///< done, its transaction still open
  kUndoBefore,         ///< a participant is about to undo a step
  kUndoAfter,          ///< undone, its transaction still open
  kInboxCommitBefore,  ///< effects, keys and replies of a batch written, not committed
  kInboxCommitAfter,   ///< committed, nobody told
  kReplyBefore,        ///< about to hand a reply to its lane
  kReplyAfter,         ///< a reply handed over
};

inline constexpr std::array<std::string_view, 14> kCrashPointNames{
    "restore.after", "commit.before", "commit.after", "accept.after",        "dispatch.before",    "dispatch.after", "effect.before",
    "effect.after",  "undo.before",   "undo.after",   "inbox-commit.before", "inbox-commit.after", "reply.before",   "reply.after"};

namespace internal {
/// Which point is armed, or -1. Dying is of the whole process, so is this: the only mutable state outside objects.
extern std::atomic<int> armed_crash_point;
void pass_armed_crash_point(CrashPoint point);
}  // namespace internal

/// SIGKILL at the armed point's n-th pass, said on standard error before; elsewhere one relaxed load.
inline void crash_point(CrashPoint point) {
  if (internal::armed_crash_point.load(std::memory_order_relaxed) == static_cast<int>(point)) [[unlikely]] {
    internal::pass_armed_crash_point(point);
  }
}

/// Arms from "NAME:COUNT" (`wanted`, of OUTRIGGER_CRASH_POINT); null or empty: nothing to arm. Before threads start.
/// Errors: kFailedPrecondition unless `allowed` (of OUTRIGGER_ALLOW_CRASH_POINTS) is "1": a variable left over by a test must not
/// kill a service; kInvalidArgument: unknown name or no count, with the names there are.
[[nodiscard]] Result<void> arm_crash_point(const char* wanted, const char* allowed);

}  // namespace outrigger
