#include "service/journal/kafka/internal/lane.h"

#include <format>
#include <thread>

#include "lib/telemetry/log.h"
#include "service/journal/kafka/metrics.h"

namespace outrigger::journal::internal {
namespace {

constexpr std::size_t kProducers = 1;
constexpr std::chrono::milliseconds kAsk{10'000};
constexpr std::chrono::milliseconds kSlice{1'000};  // between two looks at whether the partitions are still ours

std::unexpected<Error> revoked() { return fail(ErrorCode::kAborted, "the partitions are not this process's any more"); }

}  // namespace

Lane::Lane(LaneContext context, unsigned number) : context_(std::move(context)), number_(number), producers_(kProducers) {}

// The order is what makes a take-over safe: older incarnations of this lane are ended, then positions are read until no
// transaction is pending on them, then this generation proves itself by a commit, and only then the end of the state topic is
// asked for. Whatever an earlier owner committed lies before that end.
Result<std::vector<Restored>> Lane::restore(std::span<const Assignment> assignments, const std::function<void(const saga::SagaState&)>& unfinished) {
  if (!context_.ownership.for_restore(assignments)) {
    return revoked();
  }
  context_.ownership.begin_restore(assignments);
  if (auto opened = open_producers(); !opened) {
    return std::unexpected(opened.error());
  }
  const auto positions = read_positions(assignments);
  if (!positions) {
    return std::unexpected(positions.error());
  }
  if (auto primed = prime(*positions, assignments); !primed) {
    return std::unexpected(primed.error());
  }
  std::vector<std::uint32_t> partitions;
  for (const auto& assignment : assignments) {
    partitions.push_back(assignment.partition);
  }
  if (auto caught_up = context_.cache.catch_up(partitions, [&] { return context_.ownership.for_restore(assignments).has_value(); }); !caught_up) {
    return std::unexpected(caught_up.error());
  }
  std::vector<Restored> all;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const auto partition = assignments[i].partition;
    auto definitions = context_.cache.store().definitions(partition);
    if (!definitions) {
      return std::unexpected(definitions.error());
    }
    if (auto visited = context_.cache.store().each_unfinished(partition, unfinished); !visited) {
      return std::unexpected(visited.error());
    }
    const auto session = context_.ownership.finish_restore(assignments[i], (*positions)[i].next);
    if (!session) {
      return revoked();
    }
    all.push_back({.assignment = assignments[i], .session = *session, .position = (*positions)[i].next, .definitions = std::move(*definitions)});
  }
  return all;
}

Result<void> Lane::open_producers() {
  for (std::size_t i = 0; i < producers_.size(); ++i) {
    auto& producer = producers_[i];
    if (producer && !producer->is_spent()) {
      continue;
    }
    producer.reset();
    auto opened =
        kafka::TransactionalProducer::open({.client = context_.settings.client,
                                            .transactional_id = std::format("{}-{}-{}-{}", context_.group, context_.settings.instance, number_, i),
                                            .transaction_timeout = context_.settings.transaction_timeout});
    if (!opened) {
      return std::unexpected(opened.error());
    }
    context_.metrics.counter(metrics::kProducersOpened).add();
    producer = std::move(*opened);
  }
  return {};
}

Result<std::vector<kafka::Position>> Lane::read_positions(std::span<const Assignment> assignments) {
  std::vector<kafka::TopicPartition> partitions;
  for (const auto& assignment : assignments) {
    partitions.push_back({.topic = context_.codec.topics().inbox, .partition = static_cast<std::int32_t>(assignment.partition)});
  }
  const auto deadline = std::chrono::steady_clock::now() + context_.settings.restore_stall;
  auto committed = context_.inbox.committed(partitions, kSlice);
  while (!committed && std::chrono::steady_clock::now() < deadline) {
    if (!context_.ownership.for_restore(assignments)) {
      return revoked();
    }
    committed = context_.inbox.committed(partitions, kSlice);
  }
  if (!committed) {
    return std::unexpected(committed.error());
  }
  std::vector<kafka::Position> positions;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const auto ends = context_.admin.watermarks(partitions[i], kAsk);
    if (!ends) {
      return std::unexpected(ends.error());
    }
    auto next = (*committed)[i].value_or(ends->low);
    if (next < ends->low || next > ends->high) {
      // Expired input is no loss: what a saga waits for is sent again from its state.
      telemetry::log(telemetry::LogLevel::kWarning, "a committed position is not in the inbox any more: reading goes on at its start",
                     {{"partition", std::format("{}/{}", partitions[i].topic, partitions[i].partition)}, {"position", std::to_string(next)}});
      next = ends->low;
    }
    positions.push_back({.partition = partitions[i], .next = next});
  }
  return positions;
}

// A producer's first transaction is slow (its coordinator has to be found and its id written), so it is made before anybody
// waits. It commits the positions that were read, so it is fenced like any other: a refusal ends the restore before it began.
Result<void> Lane::prime(std::span<const kafka::Position> positions, std::span<const Assignment> assignments) {
  for (auto& producer : producers_) {
    const auto group = context_.ownership.for_restore(assignments);
    if (!group) {
      return revoked();
    }
    if (auto written = producer->write({}, positions, *group); !written) {
      std::vector<InputPosition> touched;
      for (const auto& assignment : assignments) {
        touched.push_back({.partition = assignment.partition});
      }
      return refused(written.error(), touched);
    }
  }
  return {};
}

Result<void> Lane::commit(const Batch& batch) {
  check_batch(batch);
  const auto group = context_.ownership.for_commit(batch.positions);
  auto& producer = producers_[turn_];
  if (!group || !producer || producer->is_spent()) {
    return revoked();
  }
  auto records = context_.codec.encode(batch);
  if (!records) {
    return std::unexpected(records.error());
  }
  std::vector<kafka::Position> positions;
  for (const auto& position : batch.positions) {
    positions.push_back(
        {.partition = {.topic = context_.codec.topics().inbox, .partition = static_cast<std::int32_t>(position.partition)}, .next = position.next});
  }
  const auto offsets = producer->write(*records, positions, *group);
  if (!offsets) {
    return refused(offsets.error(), batch.positions);
  }
  turn_ = (turn_ + 1) % producers_.size();
  context_.metrics.counter(metrics::kTransactions, {{"outcome", "committed"}}).add();
  context_.on_committed();
  // It is durable. A cache that could not follow is an unknown state to the lane, which restores from the topic.
  return context_.cache.apply(batch, *records, *offsets);
}

std::unexpected<Error> Lane::refused(const kafka::WriteError& error, std::span<const InputPosition> positions) {
  using enum kafka::WriteFailure;
  const bool is_fenced =
      error.failure == kFenced || error.failure == kInstanceFenced || (error.failure == kSuperseded && loses_within_a_heartbeat(positions));
  context_.metrics.counter(metrics::kTransactions, {{"outcome", is_fenced ? "fenced" : "unknown"}}).add();
  // A fenced instance is not always another process: this one's own consumer gets a new member id when it has to join again, as
  // after the loss of the group's coordinator. If it is another, the consumer's next heartbeat says so and ends the process.
  return fail(is_fenced ? ErrorCode::kAborted : ErrorCode::kUnavailable, error.message);
}

// A producer can be superseded by a process of the same name, or only because the broker timed its transaction out. The group knows
// which, a heartbeat later. Until then this lane must not open a producer: it would supersede the other, and both would take turns.
bool Lane::loses_within_a_heartbeat(std::span<const InputPosition> positions) const {
  const auto deadline = std::chrono::steady_clock::now() + context_.settings.session_timeout / 2;
  while (!context_.ownership.is_losing(positions)) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return true;
}

}  // namespace outrigger::journal::internal
