#include <format>

#include "lib/runtime/error.h"
#include "outrigger/saga/v1/state.pb.h"
#include "service/saga/state.h"

namespace outrigger::saga {
namespace {

namespace v1 = ::outrigger::saga::v1;
constexpr std::uint32_t kFormatVersion = 2;
// What a record without a pause is written as: the release before reads it, so that one can go back.
constexpr std::uint32_t kFormatWithoutPause = 1;

// The stored numbers begin at 1, as protobuf wants; otherwise they follow the enums.
template <class Stored, class Enum>
Stored stored(Enum value) {
  return static_cast<Stored>(static_cast<int>(value) + 1);
}

std::int64_t milliseconds(WallTime time) { return time.time_since_epoch().count(); }
WallTime wall_time(std::int64_t milliseconds) { return WallTime(std::chrono::milliseconds(milliseconds)); }

void to_record(const StepState& step, v1::StepRecord& record) {
  record.set_name(step.name);
  record.set_status(stored<v1::StepStatus>(step.status));
  record.set_attempt(step.attempt);
  record.set_undo_attempt(step.undo_attempt);
  record.set_undo_waits(step.undo_waits);
  if (step.next_at) {
    record.set_next_at_ms(milliseconds(*step.next_at));
  }
  record.set_completion_sequence(step.completion_sequence);
  if (step.started_at) {
    record.set_started_at_ms(milliseconds(*step.started_at));
  }
  if (step.ended_at) {
    record.set_ended_at_ms(milliseconds(*step.ended_at));
  }
  record.set_output(step.output);
  record.set_error(step.error);
}

StepState from_record(const v1::StepRecord& record) {
  StepState step;
  step.name = record.name();
  step.status = static_cast<StepStatus>(record.status() - 1);
  step.attempt = record.attempt();
  step.undo_attempt = record.undo_attempt();
  step.undo_waits = record.undo_waits();
  if (record.has_next_at_ms()) {
    step.next_at = wall_time(record.next_at_ms());
  }
  step.completion_sequence = record.completion_sequence();
  if (record.has_started_at_ms()) {
    step.started_at = wall_time(record.started_at_ms());
  }
  if (record.has_ended_at_ms()) {
    step.ended_at = wall_time(record.ended_at_ms());
  }
  step.output = record.output();
  step.error = record.error();
  return step;
}

bool is_known(const v1::SagaRecord& record) {
  const auto step_is_known = [](const v1::StepRecord& step) {
    return step.status() >= v1::STEP_STATUS_PENDING && step.status() <= v1::STEP_STATUS_SKIPPED;
  };
  const bool can_be_resumed = record.paused_status() == v1::SAGA_STATUS_RUNNING || record.paused_status() == v1::SAGA_STATUS_COMPENSATING ||
                              record.paused_status() == v1::SAGA_STATUS_STUCK;
  return record.status() >= v1::SAGA_STATUS_RUNNING && record.status() <= v1::SAGA_STATUS_PAUSED &&
         (record.status() != v1::SAGA_STATUS_PAUSED || can_be_resumed) && std::ranges::all_of(record.steps(), step_is_known);
}

}  // namespace

std::string encode(const SagaState& state) {
  v1::SagaRecord record;
  record.set_format_version(state.status == SagaStatus::kPaused ? kFormatVersion : kFormatWithoutPause);
  record.set_id(state.id);
  record.set_partition(state.partition);
  record.set_definition(state.definition);
  record.set_definition_version(state.definition_version);
  record.set_definition_hash(state.definition_hash);
  record.set_idempotency_key(state.idempotency_key);
  record.set_business_key(state.business_key);
  record.set_traceparent(state.traceparent);
  for (const auto& term : state.search_terms) {
    record.add_search_terms(term);
  }
  record.set_input(state.input);
  record.set_status(stored<v1::SagaStatus>(state.status));
  record.set_version(state.version);
  record.set_created_at_ms(milliseconds(state.created_at));
  record.set_updated_at_ms(milliseconds(state.updated_at));
  record.set_deadline_ms(milliseconds(state.deadline));
  record.set_completions(state.completions);
  if (state.status == SagaStatus::kPaused) {
    record.set_paused_status(stored<v1::SagaStatus>(state.paused_status));
  }
  record.set_deadline_passed(state.deadline_passed);
  for (const auto& step : state.steps) {
    to_record(step, *record.add_steps());
  }
  for (const auto& event : state.history) {
    auto& line = *record.add_history();
    line.set_sequence(event.sequence);
    line.set_at_ms(milliseconds(event.at));
    line.set_event(event.event);
    line.set_step(event.step);
    line.set_detail(event.detail);
  }
  return record.SerializeAsString();
}

Result<SagaState> decode(std::string_view bytes) {
  v1::SagaRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || record.id().empty()) {
    return fail(ErrorCode::kDataLoss, std::format("{} bytes are no saga record: the store is damaged", bytes.size()));
  }
  if (record.format_version() > kFormatVersion) {
    return fail(
        ErrorCode::kFailedPrecondition,
        std::format("saga record has format {}, this release reads up to {}: run the release that wrote it", record.format_version(), kFormatVersion),
        record.id());
  }
  if (!is_known(record)) {
    return fail(ErrorCode::kDataLoss, "saga record has a status that does not exist: the store is damaged", record.id());
  }
  SagaState state;
  state.id = record.id();
  state.partition = record.partition();
  state.definition = record.definition();
  state.definition_version = record.definition_version();
  state.definition_hash = record.definition_hash();
  state.idempotency_key = record.idempotency_key();
  state.business_key = record.business_key();
  state.traceparent = record.traceparent();
  state.search_terms.assign(record.search_terms().begin(), record.search_terms().end());
  state.input = record.input();
  state.status = static_cast<SagaStatus>(record.status() - 1);
  state.version = record.version();
  state.created_at = wall_time(record.created_at_ms());
  state.updated_at = wall_time(record.updated_at_ms());
  state.deadline = wall_time(record.deadline_ms());
  state.completions = record.completions();
  if (state.status == SagaStatus::kPaused) {
    state.paused_status = static_cast<SagaStatus>(record.paused_status() - 1);
  }
  state.deadline_passed = record.deadline_passed();
  for (const auto& step : record.steps()) {
    state.steps.push_back(from_record(step));
  }
  for (const auto& line : record.history()) {
    state.history.push_back(
        {.sequence = line.sequence(), .at = wall_time(line.at_ms()), .event = line.event(), .step = line.step(), .detail = line.detail()});
  }
  return state;
}

}  // namespace outrigger::saga
