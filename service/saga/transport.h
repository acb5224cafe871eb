#pragma once

#include "lib/participant/message.h"
#include "lib/runtime/error.h"

namespace outrigger::saga {

/// Where a lane hands the commands of steps whose participants it reaches without the journal (in-process, HTTP).
/// With a journal that delivers commands itself (Kafka) it is not used.
///
/// offer() is called from lane threads, only for commands whose state is durable, and must never block: `false` says that
/// there is no room now, and the lane offers the command again a little later, at the latest when its deadline has passed as a
/// new attempt; what goes to other destinations is not held up by it. The same command may come twice (same idempotency key);
/// participants answer the second from their inbox.
class CommandTransport {
 public:
  virtual ~CommandTransport() = default;
  [[nodiscard]] virtual bool offer(const participant::Command& command) = 0;
};

/// Where replies come in. The engine is one.
///
/// Thread-safe, never blocks. A reply that is dropped is not lost for good: the command is sent again and the participant
/// answers from its inbox.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  /// Errors: kResourceExhausted (the lane's queue is full: try again shortly), kUnavailable (this process does not own the
  /// saga's partition, or is stopping), kInvalidArgument (no such partition).
  [[nodiscard]] virtual Result<void> deliver(participant::Reply reply) = 0;
};

}  // namespace outrigger::saga
