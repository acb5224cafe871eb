#include "service/saga/internal/lane.h"

#include <algorithm>
#include <chrono>
#include <format>

#include "lib/runtime/crash_point.h"
#include "lib/telemetry/log.h"
#include "service/saga/decide.h"

namespace outrigger::saga {
namespace {

using std::chrono::milliseconds;
using telemetry::LogLevel;

constexpr milliseconds kUnsentRetry{5};
constexpr milliseconds kSweepInterval{30'000};
constexpr milliseconds kIdle{1'000};  // the wall clock may jump: never sleep longer than this on its word
constexpr std::size_t kTimersPerCommit = 64;
constexpr std::size_t kRemovalsPerCommit = 64;
constexpr std::size_t kSendsPerTurn = 1024;

milliseconds restore_backoff(std::uint32_t failures) {
  return failures <= 1 ? milliseconds(0) : std::min(milliseconds(5'000), milliseconds(50) * (1U << std::min(failures - 2, 7U)));
}

}  // namespace

Lane::Lane(Parts parts, std::unique_ptr<journal::LaneJournal> writer)
    : parts_(std::move(parts)),
      writer_(std::move(writer)),
      mailbox_(parts_.settings.queue_capacity, parts_.settings.reply_queue_capacity),
      definitions_(parts_.catalog) {}

bool Lane::turn() {
  bool worked = control();
  worked = restore() || worked;
  worked = commit_inputs() || worked;
  worked = send_unsent() || worked;
  if (worked) {
    publish_stats();
  }
  return worked;
}

WallTime Lane::next_turn() const {
  auto next = parts_.settings.clock() + kIdle;
  if (const auto due = index_.next_due()) {
    next = std::min(next, *due);
  }
  if (!unsent_.empty()) {
    next = std::min(next, unsent_retry_at_);
  }
  if (!index_.to_restore().empty()) {
    next = std::min(next, restore_at_);
  }
  return next;
}

bool Lane::control() {
  const auto controls = mailbox_.take_controls();
  for (const auto& control : controls) {
    for (const auto& assignment : control.assigned) {
      index_.assign(assignment);
      restore_at_ = {};
    }
    for (const auto partition : control.revoked) {
      index_.drop(partition);
    }
    publish_stats();
    stats_.assignments_seen += static_cast<std::uint32_t>(control.assigned.size());
    if (control.done) {
      control.done->set_value();
    }
  }
  return !controls.empty();
}

bool Lane::restore() {
  const auto assignments = index_.to_restore();
  if (assignments.empty() || parts_.settings.clock() < restore_at_) {
    return false;
  }
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::string> in_flight;
  std::size_t unfinished = 0;
  const auto restored = writer_->restore(assignments, [&](const SagaState& state) {
    index_.track(state);
    ++unfinished;
    if (parts_.transport != nullptr) {
      in_flight.push_back(state.id);
    }
  });
  if (!restored) {
    for (const auto& assignment : assignments) {
      index_.invalidate(assignment.partition);
    }
    ++failures_;
    restore_at_ = parts_.settings.clock() + restore_backoff(failures_ + 1);
    // Aborted: revoked meanwhile. on_revoked() is on its way for what has gone; what is still ours is tried again.
    if (restored.error().code != ErrorCode::kAborted) {
      set_trouble(Error{restored.error().code, "partitions cannot be restored: " + restored.error().message, restored.error().context});
      telemetry::log(LogLevel::kError, "partitions cannot be restored", {{"error", restored.error().to_string()}});
    }
    return true;
  }
  for (const auto& each : *restored) {
    index_.restored(each);
    take_definitions(each);
  }
  sweep_at_ = {};
  crash_point(CrashPoint::kRestoreAfter);
  parts_.recorder.restored(restored->size(), unfinished, std::chrono::steady_clock::now() - began);
  // What was in flight may have been lost with the process that sent it. The inboxes answer a second send from their store.
  for (const auto& id : in_flight) {
    unsent_.add(Unsent::kAnywhere, id);
  }
  if (failures_ > 0) {
    Round probe({parts_.journal, definitions_, index_, parts_.recorder, parts_.make_ulid, parts_.decide}, parts_.settings.clock());
    for (const auto& each : *restored) {
      probe.take_probe(each.assignment.partition);
    }
    static_cast<void>(commit(probe));
    return true;
  }
  set_trouble(std::nullopt);
  return true;
}

void Lane::take_definitions(const journal::Restored& restored) {
  auto& partition = *index_.find(restored.assignment.partition);
  for (const auto& record : restored.definitions) {
    const auto definition = definitions_.add(record);
    if (!definition) {
      telemetry::log(LogLevel::kError, "a stored definition cannot be read: its sagas wait", {{"error", definition.error().to_string()}});
      continue;
    }
    partition.definitions.insert(record.hash);
    partition.versions[{(*definition)->name, (*definition)->version}] = record.hash;
    for (const auto& known : parts_.catalog.all()) {
      if (known->name == (*definition)->name && known->version == (*definition)->version && known->hash != record.hash) {
        conflict_ = Error{
            ErrorCode::kFailedPrecondition,
            std::format("definition '{}' version {} differs from the one that ran before: raise its metadata.version", known->name, known->version),
            {}};
      }
    }
  }
}

bool Lane::commit_inputs() {
  Round round({parts_.journal, definitions_, index_, parts_.recorder, parts_.make_ulid, parts_.decide}, parts_.settings.clock());
  const auto began = std::chrono::steady_clock::now();
  auto taken = mailbox_.take(parts_.settings.batch_limit);
  for (auto& record : taken.records) {
    round.take(std::move(record));
  }
  for (const auto& reply : taken.replies) {
    round.take(reply);
  }
  for (auto& request : taken.requests) {
    std::visit([&](auto& input) { round.take(std::move(input)); }, request);
  }
  take_timers(round);
  take_expired(round);
  const bool worked = round.inputs() > 0;
  if (worked) {
    parts_.recorder.decided(began - taken.waiting_since.value_or(began), std::chrono::steady_clock::now() - began);
  }
  if (!round.needs_commit()) {
    round.succeed();
    return worked;
  }
  static_cast<void>(commit(round));
  return true;
}

void Lane::take_timers(Round& round) {
  const auto now = parts_.settings.clock();
  for (std::size_t i = 0; i < kTimersPerCommit; ++i) {
    const auto due = index_.pop_due(now);
    if (!due) {
      return;
    }
    // A command that was never handed over has not timed out: the participant did not see it. The saga's deadline still counts.
    if (unsent_.waits_for_room(due->first)) {
      const auto saga = parts_.journal.load(due->first);
      if (saga && *saga != nullptr && ((*saga)->status != SagaStatus::kRunning || (*saga)->deadline_passed || (*saga)->deadline > now)) {
        index_.arm(due->first, now + milliseconds(100));
        continue;
      }
    }
    parts_.recorder.timer_late(now - due->second);
    round.take_timer(due->first);
  }
}

void Lane::take_expired(Round& round) {
  const auto now = parts_.settings.clock();
  if (now < sweep_at_) {
    return;
  }
  sweep_at_ = now + kSweepInterval;
  std::size_t room = kRemovalsPerCommit;
  for (const auto number : index_.owned()) {
    if (index_.find(number) == nullptr || room == 0) {
      continue;
    }
    const auto expired = parts_.journal.finished_before(number, now - parts_.settings.retention, room);
    if (!expired) {
      continue;
    }
    for (const auto& id : *expired) {
      round.take_expired(number, id);
    }
    room -= std::min(room, expired->size());
  }
  if (room == 0) {
    sweep_at_ = now;  // there may be more
  }
}

bool Lane::commit(Round& round) {
  const auto& batch = round.finish();
  crash_point(CrashPoint::kCommitBefore);
  const auto began = std::chrono::steady_clock::now();
  if (const auto committed = writer_->commit(batch); !committed) {
    commit_failed(round, committed.error());
    return false;
  }
  crash_point(CrashPoint::kCommitAfter);
  failures_ = 0;
  set_trouble(std::nullopt);
  parts_.recorder.committed(batch, round.inputs(), std::chrono::steady_clock::now() - began);
  for (const auto& saga : round.succeed()) {
    parts_.published(saga);
  }
  crash_point(CrashPoint::kAcceptAfter);
  if (parts_.transport != nullptr) {
    for (const auto& command : batch.commands) {
      offer(command);
    }
  }
  return true;
}

/// What was decided is as if it had never been; what was written, if anything was, the restore finds out.
void Lane::commit_failed(Round& round, const Error& error) {
  parts_.recorder.commit_failed(error.code);
  const bool is_fenced = error.code == ErrorCode::kAborted;
  telemetry::log(LogLevel::kError,
                 is_fenced ? "a commit was fenced: the partitions have another owner" : "a commit failed, its outcome is not known: restoring",
                 {{"error", error.to_string()}});
  ++failures_;
  for (const auto number : index_.owned()) {
    index_.invalidate(number);
  }
  restore_at_ = parts_.settings.clock() + restore_backoff(is_fenced ? failures_ + 1 : failures_);
  if (is_fenced) {
    round.fail({ErrorCode::kUnavailable, "the partition has moved to another instance: repeat with the same idempotency key", error.message});
  } else {
    round.fail({ErrorCode::kUnavailable, "whether it was stored is not known: repeat with the same idempotency key", error.message});
  }
  set_trouble(Error{error.code, "commits fail: " + error.message, error.context});
}

void Lane::offer(const participant::Command& command) {
  crash_point(CrashPoint::kDispatchBefore);
  // What waits for the same participant comes first.
  if (!unsent_.waits_for(command.destination) && parts_.transport->offer(command)) {
    crash_point(CrashPoint::kDispatchAfter);
    return;
  }
  parts_.recorder.transport_full();
  unsent_retry_at_ = parts_.settings.clock() + kUnsentRetry;
  unsent_.add(command.destination, command.saga_id);
}

bool Lane::send_unsent() {
  const bool worked = unsent_.send(kSendsPerTurn, [this](const std::string& destination, const std::string& id) {
    // Not tracked: finished meanwhile, or its partition has gone. The commands follow from the state as it is now.
    const auto saga = index_.is_tracked(id) ? parts_.journal.load(id) : Result<std::shared_ptr<const SagaState>>(nullptr);
    const auto definition = saga && *saga != nullptr ? definitions_.find((*saga)->definition_hash) : nullptr;
    if (definition == nullptr) {
      return Unsent::Sent::kAll;
    }
    // Its time was up before the restart: the timer, which fires first, decides what is sent. A send now would start an attempt that no
    // timer ends when the process dies again, and so for ever.
    if (const auto due = next_due(**saga); destination == Unsent::kAnywhere && due && *due <= parts_.settings.clock()) {
      return Unsent::Sent::kAll;
    }
    for (const auto& command : commands_in_flight(*definition, **saga)) {
      if (destination == Unsent::kAnywhere) {
        offer(command);
      } else if (command.destination == destination && !parts_.transport->offer(command)) {
        return Unsent::Sent::kNoRoom;
      }
    }
    return Unsent::Sent::kAll;
  });
  if (!unsent_.empty()) {
    unsent_retry_at_ = parts_.settings.clock() + kUnsentRetry;
  }
  return worked;
}

void Lane::give_up() {
  mailbox_.close();
  const auto error = outrigger::fail(ErrorCode::kUnavailable, "the service is stopping: repeat with the same idempotency key elsewhere");
  for (auto taken = mailbox_.take(parts_.settings.batch_limit); !taken.requests.empty(); taken = mailbox_.take(parts_.settings.batch_limit)) {
    for (auto& request : taken.requests) {
      std::visit([&](auto& input) { input.callback(error); }, request);
    }
  }
  static_cast<void>(control());
}

std::optional<Error> Lane::trouble() const {
  const std::lock_guard lock(trouble_mutex_);
  return trouble_;
}

void Lane::set_trouble(std::optional<Error> trouble) {
  const std::lock_guard lock(trouble_mutex_);
  trouble_ = trouble ? std::move(trouble) : conflict_;
}

void Lane::publish_stats() {
  stats_.partitions_owned = static_cast<std::uint32_t>(index_.owned().size());
  stats_.partitions_restored = static_cast<std::uint32_t>(index_.restored_count());
  stats_.running = index_.count(SagaStatus::kRunning);
  stats_.compensating = index_.count(SagaStatus::kCompensating);
  stats_.paused = index_.count(SagaStatus::kPaused);
  stats_.stuck = index_.count(SagaStatus::kStuck);
  const auto oldest = index_.oldest();
  stats_.oldest_ms = oldest ? oldest->time_since_epoch().count() : 0;
}

}  // namespace outrigger::saga
