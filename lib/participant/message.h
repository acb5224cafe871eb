#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"

namespace outrigger::participant {

/// A step is done, or undone by its compensation.
enum class Direction : std::uint8_t { kDo, kUndo };

/// What an orchestrator asks of a participant. The same on every carrier (in-process, Kafka, HTTP).
struct Command {
  std::string saga_id;
  std::uint32_t partition = 0;  ///< of the saga; where the reply goes
  std::string step;
  Direction direction = Direction::kDo;
  std::uint32_t attempt = 1;  ///< counts re-sends; not part of the key
  std::string type;           ///< such as "ReserveInventory"
  std::string destination;    ///< topic, such as "cmd.inventory", or URL
  std::string payload;        ///< JSON text; Kafka carries it as Avro
  WallTime deadline;          ///< after it the answer is of no use to this attempt
  std::string traceparent;    ///< W3C trace context, or empty

  /// "<saga>/<step>/<do|undo>": what makes a repeated command the same command. Never contains the attempt.
  [[nodiscard]] std::string idempotency_key() const;
};

enum class Outcome : std::uint8_t {
  kSuccess,     ///< the effect is durable
  kFailed,      ///< definite: no net effect, do not try again; an undo never says so lightly
  kRetry,       ///< not now; ask again after `retry_after`
  kRefused,     ///< the undo came first and left a tombstone: the late do has no effect
  kInProgress,  ///< accepted, an answer follows
};

/// What a participant answers, echoing the command's identity.
struct Reply {
  std::string saga_id;
  std::uint32_t partition = 0;
  std::string step;
  Direction direction = Direction::kDo;
  std::uint32_t attempt = 1;  ///< of the command that is answered
  Outcome outcome = Outcome::kSuccess;
  std::string output;  ///< JSON text or empty
  std::string reason;  ///< for people, when not kSuccess
  std::optional<std::chrono::milliseconds> retry_after;
  std::string traceparent;
};

/// The reply's identity fields, copied from a command.
[[nodiscard]] Reply reply_to(const Command& command, Outcome outcome, std::string output = {}, std::string reason = {});

[[nodiscard]] std::string_view name(Direction direction);  ///< "do", "undo"
[[nodiscard]] std::string_view name(Outcome outcome);      ///< "SUCCESS", "FAILED", "RETRY", "REFUSED", "IN_PROGRESS"
[[nodiscard]] Result<Direction> parse_direction(std::string_view text);
[[nodiscard]] Result<Outcome> parse_outcome(std::string_view text);

}  // namespace outrigger::participant
