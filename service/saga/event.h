#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "lib/participant/message.h"
#include "lib/runtime/error.h"

namespace outrigger::saga {

/// Some deadline of the saga may have passed. A timer that comes early, late or twice does no harm.
struct TimerFired {};

/// What an operator or a user may do. Every action is audited in the saga's history.
enum class Operation : std::uint8_t {
  kRetry,       ///< send what is waiting now; a stuck undo gets its retries again
  kSkip,        ///< stuck: go on without this undo; the effect stays
  kComplete,    ///< stuck: the operator has done it (past the pivot), or undone it, by hand
  kCompensate,  ///< running: stop and undo what was done
  kAbandon,     ///< not finished: end it as it stands
  kCancel,      ///< as kCompensate, for users: a repeat is no error
  kPause,       ///< send nothing more until kResume; answers are still taken in
  kResume,
};

struct OperatorAction {
  Operation operation = Operation::kRetry;
  std::string actor;   ///< who, for the audit
  std::string reason;  ///< why, for the audit
  std::string step{};  ///< retry, skip, complete: the step that is meant; empty: the one there is (retry: all)
};

using Event = std::variant<participant::Reply, TimerFired, OperatorAction>;

[[nodiscard]] std::string_view name(Operation operation);  ///< "retry", "skip", …
[[nodiscard]] Result<Operation> parse_operation(std::string_view text);

}  // namespace outrigger::saga
