#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "service/saga/decide.h"

namespace outrigger::saga {

inline constexpr std::chrono::milliseconds kMaxRetryAfter = std::chrono::hours(1);

/// One decision in the making: each function changes the copy of the state and notes in its history what it did.
class Deciding final {
 public:
  Deciding(const Definition& definition, SagaState state, WallTime now) : definition_(definition), now_(now) { decision_.state = std::move(state); }

  void begin();
  void on(const participant::Reply& reply);
  void on(const TimerFired& timer);
  [[nodiscard]] Result<void> on(const OperatorAction& action);
  [[nodiscard]] Decision take() &&;

 private:
  SagaState& saga() { return decision_.state; }
  StepState& step(std::size_t index) { return decision_.state.steps[index]; }
  void note(std::string_view event, std::string_view step_name, std::string detail);
  void on_step_timer(std::size_t index);

  // Forward.
  void advance();
  void dispatch(std::size_t index);
  void on_do_reply(std::size_t index, const participant::Reply& reply);
  void on_late_do_reply(std::size_t index, const participant::Reply& reply);
  void settle(std::size_t index, StepStatus status, const participant::Reply& reply);
  void try_later(std::size_t index, std::chrono::milliseconds at_least);

  // Backward.
  void compensate(std::string reason);
  void undo_next();
  void dispatch_undo(std::size_t index);
  void on_undo_reply(std::size_t index, const participant::Reply& reply);
  void settle_undo(std::size_t index, StepStatus status, std::string detail);
  void undo_later(std::size_t index, std::chrono::milliseconds at_least);
  void get_stuck(std::size_t index, std::string why);

  // Operators.
  void audit(const OperatorAction& action, std::string_view step_name);
  [[nodiscard]] std::unexpected<Error> refuse(const OperatorAction& action, std::string_view why);
  [[nodiscard]] std::optional<std::size_t> stuck_step();
  [[nodiscard]] Result<void> retry(const OperatorAction& action, std::optional<std::size_t> stuck);

  const Definition& definition_;
  WallTime now_;
  Decision decision_;
};

/// Text for people, at most 1 KiB of it.
[[nodiscard]] std::string cut(std::string text);

}  // namespace outrigger::saga
