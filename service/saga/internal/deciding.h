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
  void proceed();
  [[nodiscard]] bool goes_forward();
  [[nodiscard]] bool can_go_back();

  // Forward.
  void go_forward();
  void pass_deadline();
  void dispatch(std::size_t index);
  void on_do_reply(std::size_t index, const participant::Reply& reply);
  void succeed(std::size_t index, std::string output, std::string detail);
  void try_later(std::size_t index, std::chrono::milliseconds at_least);

  // Backward.
  void compensate(std::string reason);
  void go_back();
  [[nodiscard]] bool may_be_undone(std::size_t index);
  void dispatch_undo(std::size_t index);
  void on_undo_reply(std::size_t index, const participant::Reply& reply);
  void settle_undo(std::size_t index, StepStatus status, std::string detail);
  void undo_later(std::size_t index, std::chrono::milliseconds at_least);
  void get_stuck(std::size_t index, std::string why);

  // Operators.
  void audit(const OperatorAction& action, std::string_view step_name);
  [[nodiscard]] std::unexpected<Error> refuse(const OperatorAction& action, std::string_view why);
  [[nodiscard]] bool is_stuck(std::size_t index);
  [[nodiscard]] Result<std::size_t> stuck_step(const OperatorAction& action);
  [[nodiscard]] Result<void> retry(const OperatorAction& action);
  [[nodiscard]] Result<void> settle_by_hand(const OperatorAction& action);
  [[nodiscard]] Result<void> turn_back(const OperatorAction& action);
  [[nodiscard]] Result<void> pause(const OperatorAction& action);

  const Definition& definition_;
  WallTime now_;
  Decision decision_;
};

/// Text for people, at most 1 KiB of it.
[[nodiscard]] std::string cut(std::string text);

}  // namespace outrigger::saga
