#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"
#include "service/journal/journal.h"
#include "service/saga/definition.h"
#include "service/saga/event.h"
#include "service/saga/state.h"
#include "service/saga/transport.h"

namespace outrigger::telemetry {
class Registry;
}

namespace outrigger::saga {

using SagaPointer = std::shared_ptr<const SagaState>;

struct StartRequest {
  std::string definition;                   ///< by name; the highest version is started
  std::string idempotency_key;              ///< required, at most 255 bytes
  std::string business_key;                 ///< what users search by, such as the order id; may be empty
  std::string input;                        ///< JSON object
  std::string traceparent;                  ///< W3C trace context, or empty
  std::vector<std::string> search_terms{};  ///< what else users search by; at most kMaxSearchTerms, none empty
};

inline constexpr std::size_t kMaxSearchTerms = 128;

struct Started {
  SagaPointer saga;
  bool created = true;  ///< false: this key had started it before; `saga` is as it stands now
};

/// Called once, on a thread of the engine, or on the caller's before the function returns. Must not block.
using StartCallback = std::move_only_function<void(Result<Started>)>;
using SagaCallback = std::move_only_function<void(Result<SagaPointer>)>;

/// Until when wait() waits: the first of these that holds.
struct WaitFor {
  std::optional<std::uint64_t> after_version;  ///< a version greater than this; nothing: until it is finished (or stuck)
  MonotonicTime deadline;                      ///< then the saga is answered as it stands
};

struct EngineSettings {
  unsigned lanes = 0;                       ///< threads that own partitions; 0: one a CPU, at most 4
  std::size_t queue_capacity = 1024;        ///< waiting starts and operator actions of a lane
  std::size_t reply_queue_capacity = 4096;  ///< waiting replies of a lane
  std::size_t batch_limit = 256;            ///< inputs of one commit
  std::size_t max_waiters = 20'000;         ///< wait() calls at once
  std::size_t max_input_bytes = 256 * 1024;
  std::chrono::milliseconds retention = std::chrono::days(7);  ///< finished sagas and their keys are kept so long
  WallClock clock = wall_now;
};

struct EngineStats {
  std::uint32_t partitions_owned = 0;
  std::uint32_t partitions_restored = 0;
  std::uint64_t running = 0;
  std::uint64_t compensating = 0;
  std::uint64_t stuck = 0;
  std::uint64_t paused = 0;
  std::optional<WallTime> oldest_created_at;  ///< of the sagas that are not finished
};

/// Runs sagas: lanes (one thread each) own partitions, decide by the pure core, and commit to the journal.
///
/// Thread-safe. No function blocks on a commit: starts and actions answer through their callback after the commit that
/// contains them. Reads see committed state.
///
/// Errors of start() and act(), and what HTTP makes of them: kInvalidArgument (400), kNotFound (404, no such definition or saga),
/// kAlreadyExists (422, the key was used with another payload), kFailedPrecondition (409, the state does not allow it),
/// kResourceExhausted (503 with Retry-After, a queue is full), kUnavailable (503: stopping, another instance owns the
/// partition, or the outcome of the write is not known: repeat with the same key).
class Engine final : public ReplySink {
 public:
  /// `journal`, `transport` and `registry` outlive the engine. `transport` may be null when the journal delivers commands.
  Engine(EngineSettings settings, Catalog catalog, journal::Journal& journal, CommandTransport* transport, telemetry::Registry& registry);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts the lanes and the journal; restoring goes on in the background, see ready().
  [[nodiscard]] Result<void> run();
  /// Takes no more, commits what is queued, gives the partitions back, joins. Waiters are answered. Idempotent.
  void stop();

  /// Takes in what is new of `found`, while running: later starts use the highest version, sagas that run keep theirs. All or nothing.
  /// Returns what was new. Errors: kAlreadyExists (a version that is known with another content).
  [[nodiscard]] Result<std::vector<std::shared_ptr<const Definition>>> add_definitions(const Catalog& found);

  void start(StartRequest request, StartCallback callback);
  void act(std::string saga_id, OperatorAction action, SagaCallback callback);

  /// Errors: kNotFound, kInvalidArgument (not an id), kDataLoss, kUnavailable.
  [[nodiscard]] Result<SagaPointer> get(std::string_view saga_id) const;
  /// Holds no thread while it waits. Errors as get(), and kResourceExhausted for too many waiters.
  void wait(const std::string& saga_id, WaitFor condition, SagaCallback callback);
  [[nodiscard]] Result<journal::ListPage> list(const journal::ListQuery& query) const;
  /// The newest saga with that business key; errors: kNotFound.
  [[nodiscard]] Result<SagaPointer> find_by_business_key(std::string_view definition, std::string_view business_key) const;

  [[nodiscard]] Result<void> deliver(participant::Reply reply) override;

  /// An error says why this process should get no traffic: restoring, commits fail, the store is damaged, stopping.
  [[nodiscard]] Result<void> ready() const;
  [[nodiscard]] EngineStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::saga
