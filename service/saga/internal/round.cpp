#include "service/saga/internal/round.h"

#include <algorithm>
#include <format>

#include "lib/telemetry/log.h"

namespace outrigger::saga {
namespace {

std::unexpected<Error> not_here(std::uint32_t partition) {
  return fail(ErrorCode::kUnavailable,
              std::format("partition {} is not served by this process now (another instance owns it, or it is being restored): try again shortly",
                          partition));
}

}  // namespace

std::shared_ptr<const Definition> KnownDefinitions::find(std::string_view hash) const {
  if (const auto stored = learnt_.find(hash); stored != learnt_.end()) {
    return stored->second;
  }
  return catalog_.by_hash(hash);
}

Result<std::shared_ptr<const Definition>> KnownDefinitions::add(const journal::DefinitionRecord& record) {
  if (auto known = find(record.hash)) {
    return known;
  }
  auto definition = parse_definition(record.body, "stored definition " + record.hash.substr(0, 12));
  if (!definition) {
    return std::unexpected(definition.error());
  }
  if (definition->hash != record.hash) {
    return fail(ErrorCode::kDataLoss, std::format("the stored definition {} gives the hash {}", record.hash, definition->hash));
  }
  return learnt_[record.hash] = std::make_shared<const Definition>(std::move(*definition));
}

void KnownDefinitions::learn(const std::shared_ptr<const Definition>& definition) {
  if (find(definition->hash) == nullptr) {
    learnt_[definition->hash] = definition;
  }
}

LaneIndex::Partition* Round::own(std::uint32_t partition) { return parts_.index.find(partition); }

Result<SagaPointer> Round::load(const std::string& saga_id) const {
  if (const auto changed = states_.find(saga_id); changed != states_.end()) {
    return changed->second;
  }
  return parts_.journal.load(saga_id);
}

void Round::adopt(const Definition& definition, Decision decision) {
  const auto& state = decision.state;
  positions_[state.partition];
  for (auto& event : decision.history) {
    batch_.history.push_back({.saga_id = state.id, .partition = state.partition, .definition = state.definition, .event = std::move(event)});
  }
  auto& commands = commands_[state.id];
  std::ranges::move(decision.commands, std::back_inserter(commands));
  // An input of the same round may have made an earlier command pointless.
  const auto current = commands_in_flight(definition, state);
  std::erase_if(commands, [&](const participant::Command& command) {
    return std::ranges::none_of(current, [&](const participant::Command& each) {
      return each.step == command.step && each.direction == command.direction && each.attempt == command.attempt;
    });
  });
  // Not `states_[state.id] = …move…`: the right side of an assignment is evaluated first and would leave an empty id for the left.
  auto changed = std::make_shared<const SagaState>(std::move(decision.state));
  states_.insert_or_assign(changed->id, changed);
}

void Round::take(StartInput input) {
  ++inputs_;
  auto& request = input.request;
  auto* partition = own(input.partition);
  if (partition == nullptr) {
    input.callback(not_here(input.partition));
    return;
  }
  const std::pair scope(request.definition, request.idempotency_key);
  std::optional<journal::KeyRecord> known;
  if (const auto own_key = keys_.find(scope); own_key != keys_.end()) {
    known = own_key->second;
  } else {
    auto stored = parts_.journal.find_key(scope.first, scope.second);
    if (!stored) {
      input.callback(std::unexpected(stored.error()));
      return;
    }
    known = std::move(*stored);
  }
  if (known) {
    parts_.recorder.absorbed("start");
    if (known->fingerprint != input.fingerprint) {
      input.callback(outrigger::fail(ErrorCode::kAlreadyExists,
                                     std::format("the idempotency key '{}' was used with another payload: use a new key", scope.second)));
      return;
    }
    answer_start(std::move(input.callback), known->saga_id, false);
    return;
  }
  const auto& definition = *input.definition;
  const std::pair version(definition.name, definition.version);
  if (const auto stored = partition->versions.find(version); stored != partition->versions.end() && stored->second != definition.hash) {
    input.callback(outrigger::fail(
        ErrorCode::kFailedPrecondition,
        std::format("definition '{}' version {} differs from the one that ran before: raise metadata.version", definition.name, definition.version)));
    return;
  }
  parts_.definitions.learn(input.definition);
  if (!partition->definitions.contains(definition.hash) && new_definitions_.insert({input.partition, definition.hash}).second) {
    batch_.definitions.push_back({.partition = input.partition, .hash = definition.hash, .body = definition.body});
  }
  const auto id = make_saga_id(input.partition, parts_.make_ulid());
  journal::KeyRecord record{.partition = input.partition,
                            .definition = request.definition,
                            .key = request.idempotency_key,
                            .fingerprint = std::move(input.fingerprint),
                            .saga_id = id,
                            .created_at = now_};
  keys_[scope] = record;
  batch_.keys.push_back(std::move(record));
  adopt(definition, begin(definition,
                          {.id = id,
                           .partition = input.partition,
                           .idempotency_key = std::move(request.idempotency_key),
                           .business_key = std::move(request.business_key),
                           .input = std::move(request.input),
                           .traceparent = std::move(request.traceparent),
                           .search_terms = std::move(request.search_terms)},
                          now_));
  answer_start(std::move(input.callback), id, true);
}

void Round::answer_start(StartCallback callback, std::string saga_id, bool created) {
  start_answers_.push_back({.callback = std::move(callback), .saga_id = std::move(saga_id), .created = created});
}

void Round::take(ActionInput input) {
  ++inputs_;
  if (own(input.partition) == nullptr) {
    input.callback(not_here(input.partition));
    return;
  }
  const auto saga = load(input.saga_id);
  if (!saga) {
    input.callback(std::unexpected(saga.error()));
    return;
  }
  if (*saga == nullptr) {
    input.callback(outrigger::fail(ErrorCode::kNotFound, std::format("no saga has the id {}", input.saga_id)));
    return;
  }
  const auto definition = parts_.definitions.find((*saga)->definition_hash);
  if (definition == nullptr) {
    input.callback(outrigger::fail(ErrorCode::kFailedPrecondition, std::format("the definition of saga {} is not known here", input.saga_id)));
    return;
  }
  auto decision = parts_.decide(*definition, **saga, input.action, now_);
  if (!decision) {
    input.callback(std::unexpected(decision.error()));
    return;
  }
  if (decision->changed) {
    adopt(*definition, std::move(*decision));
  }
  action_answers_.emplace_back(std::move(input.callback), std::move(input.saga_id));
}

bool Round::decide_on(const std::string& saga_id, const Event& event, std::string_view kind) {
  if (!parts_.index.is_tracked(saga_id) && !states_.contains(saga_id)) {
    parts_.recorder.absorbed("unknown_saga");
    return true;
  }
  const auto saga = load(saga_id);
  const auto definition = saga && *saga != nullptr ? parts_.definitions.find((*saga)->definition_hash) : nullptr;
  if (definition == nullptr) {
    telemetry::log(telemetry::LogLevel::kError, "a saga cannot go on: its state or its definition cannot be read",
                   {{"saga_id", saga_id}, {"error", saga ? "definition or state is missing" : saga.error().to_string()}});
    return false;
  }
  auto decision = parts_.decide(*definition, **saga, event, now_);
  if (decision && decision->changed) {
    adopt(*definition, std::move(*decision));
  } else {
    parts_.recorder.absorbed(kind);
  }
  return true;
}

void Round::take(const participant::Reply& reply) {
  ++inputs_;
  const auto partition = partition_of_id(reply.saga_id);
  if (!partition || own(*partition) == nullptr || !decide_on(reply.saga_id, reply, "reply")) {
    parts_.recorder.absorbed("unknown_saga");
  }
}

void Round::take(journal::InboxRecord record) {
  ++inputs_;
  const auto* partition = own(record.partition);
  if (partition == nullptr || partition->session != record.session) {
    return;  // delivered before the last restore; it comes again from the committed position
  }
  positions_[record.partition] = record.next_position;
  if (auto* letter = std::get_if<journal::DeadLetter>(&record.body)) {
    letter->partition = record.partition;
    batch_.dead_letters.push_back(std::move(*letter));
    return;
  }
  const auto& reply = std::get<participant::Reply>(record.body);
  if (const auto own_partition = partition_of_id(reply.saga_id); !own_partition || *own_partition != record.partition) {
    batch_.dead_letters.push_back({.partition = record.partition,
                                   .reason = "the saga id does not belong to this partition",
                                   .source = std::format("position {}", record.next_position - 1),
                                   .key = reply.saga_id,
                                   .value = reply.output});
    return;
  }
  static_cast<void>(decide_on(reply.saga_id, reply, "reply"));
}

void Round::take_timer(const std::string& saga_id) {
  ++inputs_;
  if (!decide_on(saga_id, TimerFired{}, "timer")) {
    parts_.recorder.parked();
  } else if (!states_.contains(saga_id)) {
    parts_.index.arm(saga_id, now_ + std::chrono::seconds(1));  // the clock stepped back
  }
}

void Round::take_expired(std::uint32_t partition, const std::string& saga_id) {
  const auto saga = load(saga_id);
  if (own(partition) == nullptr || states_.contains(saga_id) || !saga || *saga == nullptr) {
    return;
  }
  ++inputs_;
  positions_[partition];
  batch_.removals.push_back(
      {.partition = partition, .saga_id = saga_id, .definition = (*saga)->definition, .idempotency_key = (*saga)->idempotency_key});
}

const journal::Batch& Round::finish() {
  for (const auto& [id, state] : states_) {
    batch_.states.push_back(state);
  }
  for (auto& [id, commands] : commands_) {
    std::ranges::move(commands, std::back_inserter(batch_.commands));
  }
  for (auto& [number, position] : positions_) {
    position = std::max(position, own(number)->position);
    batch_.positions.push_back({.partition = number, .next = position});
  }
  return batch_;
}

std::vector<SagaPointer> Round::succeed() {
  for (const auto& [number, position] : positions_) {
    own(number)->position = position;
  }
  for (const auto& record : batch_.definitions) {
    auto& partition = *own(record.partition);
    partition.definitions.insert(record.hash);
    if (const auto definition = parts_.definitions.find(record.hash)) {
      partition.versions[{definition->name, definition->version}] = record.hash;
    }
  }
  std::vector<SagaPointer> changed;
  for (const auto& [id, state] : states_) {
    parts_.index.track(*state);
    changed.push_back(state);
  }
  for (auto& answer : start_answers_) {
    auto saga = load(answer.saga_id);
    if (saga && *saga == nullptr) {
      saga = outrigger::fail(ErrorCode::kDataLoss, std::format("saga {} of this idempotency key is not in the store", answer.saga_id));
    }
    if (saga) {
      answer.callback(Started{.saga = *saga, .created = answer.created});
    } else {
      answer.callback(std::unexpected(saga.error()));
    }
  }
  for (auto& [callback, id] : action_answers_) {
    callback(load(id));
  }
  return changed;
}

void Round::fail(const Error& error) {
  for (auto& answer : start_answers_) {
    answer.callback(std::unexpected(error));
  }
  for (auto& [callback, id] : action_answers_) {
    callback(std::unexpected(error));
  }
}

}  // namespace outrigger::saga
