#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/participant/message.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"
#include "service/saga/definition.h"
#include "service/saga/event.h"
#include "service/saga/state.h"

namespace outrigger::saga {

/// The pure core of the engine: no I/O, clock or randomness, so the same arguments always give the same answer.
///
/// The events of the history, in the words users see.
namespace history {
inline constexpr std::string_view kStarted = "SAGA_STARTED";
inline constexpr std::string_view kDispatched = "STEP_DISPATCHED";
inline constexpr std::string_view kSucceeded = "STEP_SUCCEEDED";
inline constexpr std::string_view kFailed = "STEP_FAILED";
inline constexpr std::string_view kTimedOut = "STEP_TIMED_OUT";
inline constexpr std::string_view kRetryLater = "STEP_RETRY_LATER";
inline constexpr std::string_view kInProgress = "STEP_IN_PROGRESS";
inline constexpr std::string_view kUnknown = "STEP_UNKNOWN";
inline constexpr std::string_view kDeadline = "SAGA_DEADLINE_EXCEEDED";
inline constexpr std::string_view kCompensating = "COMPENSATION_STARTED";
inline constexpr std::string_view kUndoDispatched = "UNDO_DISPATCHED";
inline constexpr std::string_view kUndoTimedOut = "UNDO_TIMED_OUT";
inline constexpr std::string_view kUndoRetryLater = "UNDO_RETRY_LATER";
inline constexpr std::string_view kUndoFailed = "UNDO_FAILED";
inline constexpr std::string_view kUndone = "STEP_COMPENSATED";
inline constexpr std::string_view kSkipped = "STEP_SKIPPED";
inline constexpr std::string_view kCompleted = "SAGA_COMPLETED";
inline constexpr std::string_view kCompensated = "SAGA_COMPENSATED";
inline constexpr std::string_view kStuck = "SAGA_STUCK";
inline constexpr std::string_view kAbandoned = "SAGA_ABANDONED";
inline constexpr std::string_view kOperator = "OPERATOR_ACTION";
}  // namespace history

struct Decision {
  SagaState state;                             ///< the new state; equal to the old one when `changed` is false
  std::vector<participant::Command> commands;  ///< to send once the state is durable
  std::vector<HistoryEvent> history;           ///< what was added to the history
  bool changed = true;                         ///< false: the event said nothing new (a duplicate, a late answer, an early timer)
};

/// What a new saga is made of.
struct NewSaga {
  std::string id;
  std::uint32_t partition = 0;
  std::string idempotency_key;
  std::string business_key;
  std::string input;  ///< JSON text
  std::string traceparent;
  std::vector<std::string> search_terms{};
};

/// The first state of a saga, with its first step on its way.
[[nodiscard]] Decision begin(const Definition& definition, NewSaga saga, WallTime now);

/// What follows from an event. `definition` is the one that the state names.
/// Errors: kFailedPrecondition when an operator asks for what the state does not allow; replies and timers never fail.
[[nodiscard]] Result<Decision> decide(const Definition& definition, const SagaState& state, const Event& event, WallTime now);

/// The commands that are on their way in this state: sent again after a restart, they are the same commands.
[[nodiscard]] std::vector<participant::Command> commands_in_flight(const Definition& definition, const SagaState& state);

/// When the saga needs a TimerFired next; nothing when it waits for nobody (finished, stuck).
[[nodiscard]] std::optional<WallTime> next_due(const SagaState& state);

}  // namespace outrigger::saga
