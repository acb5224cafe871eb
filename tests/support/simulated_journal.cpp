#include "tests/support/simulated_journal.h"

#include <algorithm>
#include <charconv>
#include <format>
#include <tuple>

namespace outrigger::testing {

using journal::Assignment;
using journal::Batch;
using journal::DeadLetter;
using journal::DefinitionRecord;
using journal::KeyRecord;
using journal::ListPage;
using journal::Restored;
using saga::SagaState;

void SimulatedLog::append_input(participant::Reply reply) {
  const std::lock_guard lock(mutex_);
  by_partition_[reply.partition].input.emplace_back(std::move(reply));
}

void SimulatedLog::append_undecodable_input(std::uint32_t partition, std::string value) {
  const std::lock_guard lock(mutex_);
  by_partition_[partition].input.emplace_back(DeadLetter{
      .partition = partition, .reason = "no reply", .source = std::format("simulated/{}", partition), .key = {}, .value = std::move(value)});
}

std::vector<participant::Command> SimulatedLog::take_commands() {
  const std::lock_guard lock(mutex_);
  return std::exchange(commands_, {});
}

std::size_t SimulatedLog::dead_letters() const {
  const std::lock_guard lock(mutex_);
  return dead_letters_.size();
}

std::map<std::string, std::string> SimulatedLog::states() const {
  const std::lock_guard lock(mutex_);
  return states_;
}

SimulatedLog::Records SimulatedLog::records() const {
  const std::lock_guard lock(mutex_);
  Records records{.positions = {}, .states = states_, .keys = keys_, .definitions = definitions_};
  for (const auto& [number, partition] : by_partition_) {
    records.positions[number] = partition.position;
  }
  return records;
}

void SimulatedLog::lose_what_came_after(const Records& records) {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, position] : records.positions) {
    by_partition_[number].position = position;
  }
  states_ = records.states;
  keys_ = records.keys;
  definitions_ = records.definitions;
}

class SimulatedJournal::Lane final : public journal::LaneJournal {
 public:
  explicit Lane(SimulatedJournal& journal) : journal_(journal) {}

  [[nodiscard]] Result<std::vector<Restored>> restore(std::span<const Assignment> assignments,
                                                      const std::function<void(const SagaState&)>& unfinished) override {
    auto& log = journal_.log_;
    std::vector<Restored> all;
    std::vector<SagaState> states;
    {
      const std::lock_guard lock(log.mutex_);
      for (const auto& assignment : assignments) {
        auto& partition = log.by_partition_[assignment.partition];
        if (journal_.crashed_ || journal_.listener_ == nullptr || partition.owner != assignment.epoch) {
          return fail(ErrorCode::kAborted, std::format("partition {} has another owner", assignment.partition));
        }
        auto& restored = all.emplace_back(
            Restored{.assignment = assignment, .session = ++journal_.last_session_, .position = partition.position, .definitions = {}});
        for (const auto& [place, bytes] : log.definitions_) {
          if (place.first == assignment.partition) {
            restored.definitions.push_back(journal::decode_definition_record(bytes).value());
          }
        }
        for (const auto& [id, bytes] : log.states_) {
          if (auto state = saga::decode(bytes).value(); state.partition == assignment.partition && !state.is_finished()) {
            states.push_back(std::move(state));
          }
        }
        journal_.deliveries_[assignment.partition] = {.session = restored.session, .next = restored.position};
      }
    }
    std::ranges::for_each(states, unfinished);
    return all;
  }

  [[nodiscard]] Result<void> commit(const Batch& batch) override {
    check_batch(batch);
    const auto fate = journal_.fate_();
    if (fate == CommitFate::kLost) {
      return fail(ErrorCode::kUnavailable, "simulated: the commit timed out");
    }
    auto written = journal_.write(batch);
    if (written && fate == CommitFate::kUnknown) {
      return fail(ErrorCode::kUnavailable, "simulated: the commit timed out");
    }
    return written;
  }

 private:
  SimulatedJournal& journal_;
};

SimulatedJournal::SimulatedJournal(SimulatedLog& log, bool delivers_commands, Fate fate)
    : log_(log), delivers_commands_(delivers_commands), fate_(std::move(fate)) {}
SimulatedJournal::~SimulatedJournal() { stop(); }

std::uint32_t SimulatedJournal::partitions() const { return log_.partitions_; }

Result<void> SimulatedJournal::start(journal::Listener& listener) {
  std::vector<Assignment> all;
  {
    const std::lock_guard lock(log_.mutex_);
    listener_ = &listener;
    epoch_ = ++log_.last_epoch_;
    for (std::uint32_t number = 0; number < log_.partitions_; ++number) {
      log_.by_partition_[number].owner = epoch_;
      all.push_back({.partition = number, .epoch = epoch_});
    }
  }
  listener.on_assigned(all);
  return {};
}

void SimulatedJournal::stop() {
  auto* listener = std::exchange(listener_, nullptr);
  if (listener == nullptr || crashed_) {
    return;
  }
  std::vector<std::uint32_t> all;
  for (std::uint32_t number = 0; number < log_.partitions_; ++number) {
    all.push_back(number);
  }
  listener->on_revoked(all);
  const std::lock_guard lock(log_.mutex_);
  for (auto& [number, partition] : log_.by_partition_) {
    partition.owner = partition.owner == epoch_ ? 0 : partition.owner;
  }
}

Result<std::unique_ptr<journal::LaneJournal>> SimulatedJournal::open_lane(unsigned) { return std::make_unique<Lane>(*this); }

Result<void> SimulatedJournal::write(const Batch& batch) {
  const std::lock_guard lock(log_.mutex_);
  for (const auto& position : batch.positions) {
    if (crashed_ || log_.by_partition_[position.partition].owner != epoch_) {
      return fail(ErrorCode::kAborted, std::format("partition {} has another owner", position.partition));
    }
  }
  for (const auto& position : batch.positions) {
    auto& stored = log_.by_partition_[position.partition].position;
    if (position.next < stored || position.next > deliveries_[position.partition].next) {
      impossible("simulated journal", std::format("partition {} would go from position {} to {}, {} were delivered since its restore",
                                                  position.partition, stored, position.next, deliveries_[position.partition].next));
    }
    stored = position.next;
  }
  for (const auto& state : batch.states) {
    log_.states_[state->id] = saga::encode(*state);
  }
  for (const auto& key : batch.keys) {
    log_.keys_[{key.definition, key.key}] = journal::encode(key);
  }
  for (const auto& definition : batch.definitions) {
    log_.definitions_[{definition.partition, definition.hash}] = journal::encode(definition);
  }
  for (const auto& removal : batch.removals) {
    log_.states_.erase(removal.saga_id);
    log_.keys_.erase({removal.definition, removal.idempotency_key});
  }
  log_.commands_.insert(log_.commands_.end(), batch.commands.begin(), batch.commands.end());
  log_.dead_letters_.insert(log_.dead_letters_.end(), batch.dead_letters.begin(), batch.dead_letters.end());
  return {};
}

std::size_t SimulatedJournal::pump(std::size_t limit) {
  std::size_t delivered = 0;
  for (auto& [number, delivery] : deliveries_) {
    while (delivered < limit && listener_ != nullptr) {
      journal::InboxRecord record{.partition = number, .session = delivery.session, .next_position = delivery.next + 1, .body = DeadLetter{}};
      {
        const std::lock_guard lock(log_.mutex_);
        const auto& partition = log_.by_partition_[number];
        if (crashed_ || partition.owner != epoch_ || delivery.next >= static_cast<std::int64_t>(partition.input.size())) {
          break;
        }
        record.body = partition.input[static_cast<std::size_t>(delivery.next)];
      }
      if (!listener_->on_input(std::move(record))) {
        break;
      }
      ++delivery.next;
      ++delivered;
    }
  }
  return delivered;
}

Result<std::shared_ptr<const SagaState>> SimulatedJournal::load(std::string_view saga_id) const {
  const std::lock_guard lock(log_.mutex_);
  const auto found = log_.states_.find(std::string(saga_id));
  if (found == log_.states_.end()) {
    return nullptr;
  }
  return std::make_shared<const SagaState>(saga::decode(found->second).value());
}

Result<std::optional<KeyRecord>> SimulatedJournal::find_key(std::string_view definition, std::string_view key) const {
  const std::lock_guard lock(log_.mutex_);
  const auto found = log_.keys_.find({std::string(definition), std::string(key)});
  return found == log_.keys_.end() ? std::nullopt : std::optional(journal::decode_key_record(found->second).value());
}

Result<ListPage> SimulatedJournal::list(const journal::ListQuery& query) const {
  const auto older = [](const auto& left, const auto& right) {
    return std::tuple(right->created_at, left->id) < std::tuple(left->created_at, right->id);
  };
  std::vector<std::shared_ptr<const SagaState>> matching;
  for (const auto& [id, bytes] : log_.states()) {
    auto state = std::make_shared<const SagaState>(saga::decode(bytes).value());
    const bool matches = (!query.status || *query.status == state->status) && (query.definition.empty() || query.definition == state->definition) &&
                         (query.business_key.empty() || query.business_key == state->business_key) &&
                         (query.search_term.empty() || std::ranges::contains(state->search_terms, query.search_term)) &&
                         (!query.created_before || state->created_at < *query.created_before) &&
                         (!query.created_since || state->created_at >= *query.created_since);
    if (matches) {
      matching.push_back(std::move(state));
    }
  }
  std::ranges::sort(matching, older);
  std::size_t from = 0;
  const auto& cursor = query.cursor;
  if (!cursor.empty() && std::from_chars(cursor.data(), cursor.data() + cursor.size(), from).ptr != cursor.data() + cursor.size()) {
    return fail(ErrorCode::kInvalidArgument, "the cursor is none");
  }
  ListPage page;
  const auto end = std::min(matching.size(), from + query.limit);
  for (auto i = from; i < end; ++i) {
    page.sagas.push_back(matching[i]);
  }
  page.next_cursor = end < matching.size() ? std::to_string(end) : std::string();
  return page;
}

Result<std::vector<std::string>> SimulatedJournal::finished_before(std::uint32_t partition, WallTime time, std::size_t limit) const {
  std::vector<std::pair<WallTime, std::string>> found;
  for (const auto& [id, bytes] : log_.states()) {
    if (const auto state = saga::decode(bytes).value(); state.partition == partition && state.is_finished() && state.updated_at < time) {
      found.emplace_back(state.updated_at, id);
    }
  }
  std::ranges::sort(found);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < std::min(limit, found.size()); ++i) {
    ids.push_back(found[i].second);
  }
  return ids;
}

}  // namespace outrigger::testing
