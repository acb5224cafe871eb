#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "service/saga/internal/lane_index.h"
#include "service/saga/internal/mailbox.h"
#include "service/saga/internal/recorder.h"
#include "service/saga/internal/round.h"
#include "service/saga/internal/unsent.h"

namespace outrigger::saga {

/// Owns some partitions and is the only writer of their sagas. turn() is one round of work without waiting, so that tests drive a
/// lane by hand with their own clock; in the engine a thread calls it. Except for mailbox(), stats() and trouble(), one thread.
class Lane final {
 public:
  struct Parts {
    const EngineSettings& settings;
    const Catalog& catalog;
    journal::Journal& journal;
    CommandTransport* transport;  ///< null: the journal delivers commands
    Recorder& recorder;
    std::function<std::string()> make_ulid;
    std::function<void(const SagaPointer&)> published;  ///< after each commit, for every changed saga
    Decide decide = saga::decide;
  };

  Lane(Parts parts, std::unique_ptr<journal::LaneJournal> writer);

  /// Control, restore, at most one commit, sends. Returns true when it did anything.
  bool turn();
  /// When turn() should be called again though nothing arrives.
  [[nodiscard]] WallTime next_turn() const;
  /// Answers what still waits in the mailbox: nothing will be committed any more.
  void give_up();

  [[nodiscard]] Mailbox& mailbox() { return mailbox_; }
  [[nodiscard]] const LaneStats& stats() const { return stats_; }
  /// Why the lane cannot serve, or nothing. Thread-safe.
  [[nodiscard]] std::optional<Error> trouble() const;

 private:
  [[nodiscard]] bool control();
  [[nodiscard]] bool restore();
  void take_definitions(const journal::Restored& restored);
  [[nodiscard]] bool commit_inputs();
  void take_timers(Round& round);
  void take_expired(Round& round);
  [[nodiscard]] bool commit(Round& round);
  void commit_failed(Round& round, const Error& error);
  [[nodiscard]] bool send_unsent();
  void offer(const participant::Command& command);
  void set_trouble(std::optional<Error> trouble);
  void publish_stats();

  const Parts parts_;
  const std::unique_ptr<journal::LaneJournal> writer_;
  Mailbox mailbox_;
  LaneStats stats_;
  LaneIndex index_;
  KnownDefinitions definitions_;
  Unsent unsent_;  ///< sagas whose commands found no room, or wait for a re-send
  WallTime unsent_retry_at_{};
  WallTime restore_at_{};  ///< not before
  WallTime sweep_at_{};
  std::uint32_t failures_ = 0;     ///< restores and commits that failed in a row
  std::optional<Error> conflict_;  ///< a definition that differs from the one that ran before
  mutable std::mutex trouble_mutex_;
  std::optional<Error> trouble_;
};

}  // namespace outrigger::saga
