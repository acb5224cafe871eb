#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"

namespace outrigger::saga {

enum class SagaStatus : std::uint8_t {
  kRunning,
  kCompensating,
  kCompleted,    ///< every step succeeded
  kCompensated,  ///< every effect was undone
  kStuck,        ///< an undo ran out of retries, or a step past the pivot failed: an operator decides; what else is under way goes on
  kAbandoned,    ///< an operator gave it up; effects may remain
  kPaused,       ///< nothing is sent until an operator resumes it
};
inline constexpr std::size_t kSagaStatusCount = 7;

enum class StepStatus : std::uint8_t {
  kPending,     ///< not sent yet
  kDispatched,  ///< sent, `next_at` is when this attempt times out
  kSucceeded,
  kFailed,        ///< definite: no net effect
  kUnknown,       ///< no answer that settles it; sent again at `next_at`, or to be undone
  kCompensating,  ///< its undo is under way
  kCompensated,
  kSkipped,  ///< will never run, has nothing to undo, or an operator skipped its undo
};

struct StepState {
  std::string name;
  StepStatus status = StepStatus::kPending;
  std::uint32_t attempt = 0;                ///< sends of the do
  std::uint32_t undo_attempt = 0;           ///< sends of the undo
  bool undo_waits = false;                  ///< kCompensating: waiting for `next_at` to send again, or stuck
  std::optional<WallTime> next_at = {};     ///< the step's own timer
  std::uint64_t completion_sequence = 0;    ///< order in which steps settled as succeeded or unknown; 0: not
  std::optional<WallTime> started_at = {};  ///< first send of the do
  std::optional<WallTime> ended_at = {};    ///< when the do settled
  std::string output = {};                  ///< JSON text of the do, or empty
  std::string error = {};                   ///< for people

  bool operator==(const StepState&) const = default;
};

struct HistoryEvent {
  std::uint64_t sequence = 0;  ///< from 1, without gaps, per saga
  WallTime at;
  std::string event;   ///< such as "STEP_SUCCEEDED"; the names are in decide.h
  std::string step;    ///< or empty
  std::string detail;  ///< or empty

  bool operator==(const HistoryEvent&) const = default;
};

/// Everything there is to know about one saga: one record, written whole. Whatever must happen next follows from it and
/// from its definition, so a lost command or timer is only a late one.
struct SagaState {
  static constexpr std::size_t kHistoryLimit = 50;

  std::string id;  ///< "p<partition>-<ulid>"
  std::uint32_t partition = 0;
  std::string definition;
  std::uint32_t definition_version = 0;
  std::string definition_hash;
  std::string idempotency_key;
  std::string business_key;
  std::vector<std::string> search_terms{};  ///< what else it is found by, such as the order's customer and products
  std::string traceparent;
  std::string input;  ///< JSON text
  SagaStatus status = SagaStatus::kRunning;
  SagaStatus paused_status = SagaStatus::kRunning;  ///< kPaused: what it was, and will be when it is resumed
  std::uint64_t version = 0;                        ///< grows by one with every change
  WallTime created_at;
  WallTime updated_at;
  WallTime deadline;
  bool deadline_passed = false;       ///< it was noticed; past the pivot the saga goes on
  std::uint64_t completions = 0;      ///< last completion_sequence given
  std::vector<StepState> steps;       ///< in the order of the definition
  std::vector<HistoryEvent> history;  ///< the last kHistoryLimit

  [[nodiscard]] bool is_finished() const;  ///< nothing can happen any more: completed, compensated, abandoned
  bool operator==(const SagaState&) const = default;
};

/// Nothing can happen any more.
[[nodiscard]] bool is_finished(SagaStatus status);

/// "RUNNING", "STUCK", …, and "PENDING", "DISPATCHED", …: as the API shows them.
[[nodiscard]] std::string_view name(SagaStatus status);
[[nodiscard]] std::string_view name(StepStatus status);
[[nodiscard]] Result<SagaStatus> parse_saga_status(std::string_view text);

[[nodiscard]] std::uint32_t partition_of_key(std::string_view idempotency_key, std::uint32_t partitions);
[[nodiscard]] std::string make_saga_id(std::uint32_t partition, std::string_view ulid);
/// Errors: kInvalidArgument when it is no saga id.
[[nodiscard]] Result<std::uint32_t> partition_of_id(std::string_view saga_id);

/// The stored form: protobuf outrigger.saga.v1.SagaRecord. Deterministic: equal states have equal bytes.
[[nodiscard]] std::string encode(const SagaState& state);
/// Errors: kDataLoss (not a record), kFailedPrecondition (written by a newer release).
[[nodiscard]] Result<SagaState> decode(std::string_view bytes);

/// What GET /v1/sagas/{id} shows, as JSON text.
[[nodiscard]] std::string to_json(const SagaState& state);
[[nodiscard]] std::string to_json(const HistoryEvent& event);  ///< as in its saga's history
/// "2026-01-31T12:00:00.000Z".
[[nodiscard]] std::string format_time(WallTime time);

}  // namespace outrigger::saga
