#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/participant/message.h"
#include "lib/participant/sqlite.h"
#include "lib/runtime/clock.h"
#include "lib/telemetry/metrics.h"

namespace outrigger::participant {

/// What a participant decided about a command.
struct Decision {
  Outcome outcome = Outcome::kSuccess;  ///< kSuccess, kFailed or kRetry
  std::string output;                   ///< JSON text, or empty
  std::string reason;                   ///< for people, when not kSuccess
  std::optional<std::chrono::milliseconds> retry_after;

  [[nodiscard]] static Decision success(std::string output = {});
  [[nodiscard]] static Decision failed(std::string reason);
  [[nodiscard]] static Decision retry(std::string reason, std::chrono::milliseconds after);
};

/// The participant's own work: reads and writes `database`, nothing else, inside the inbox's transaction.
/// Whatever it wrote is undone unless it decides kSuccess. An error means: not now; the command is answered RETRY.
/// For an undo it is called only when the step's do succeeded here before.
using Handler = std::function<Result<Decision>(Database& database, const Command& command)>;

struct InboxSettings {
  std::string participant;                                 ///< label of the metrics
  std::chrono::milliseconds retention{30LL * 86'400'000};  ///< of stored replies; must exceed the longest life of a saga
  std::chrono::milliseconds retry_after{200};              ///< asked for when the database is unavailable
  std::size_t expire_at_most = 500;                        ///< rows that one batch removes
};

/// Makes a handler's effects happen exactly once, however often and in whatever order commands arrive.
///
/// Key, effect and reply are one transaction of the participant's database (the "idempotent receiver" with an inbox table):
/// - a repeated key is answered from the stored reply; the handler is not called again;
/// - an undo whose do never succeeded here leaves a tombstone and answers SUCCESS; the late do then answers REFUSED;
/// - RETRY, and an undo that FAILED, are not stored: the next attempt decides anew;
/// - a batch is one commit, each command in its own savepoint. When the database is unavailable (disk full), all of the batch
///   answers RETRY and none of it happened.
/// One thread at a time. `database` and `registry` must outlive it.
class Inbox final {
 public:
  /// Creates its table `inbox` where it is missing.
  [[nodiscard]] static Result<Inbox> open(Database& database, InboxSettings settings, WallClock clock, telemetry::Registry& registry);
  ~Inbox();
  Inbox(Inbox&&) noexcept;
  Inbox& operator=(Inbox&&) noexcept;

  /// One reply a command, in their order.
  [[nodiscard]] std::vector<Reply> process(std::span<const Command> commands, const Handler& handler);

 private:
  struct State;
  explicit Inbox(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace outrigger::participant
