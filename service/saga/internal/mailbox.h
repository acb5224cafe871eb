#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "service/saga/engine.h"

namespace outrigger::saga {

struct StartInput {
  std::shared_ptr<const Definition> definition;
  StartRequest request;
  std::string fingerprint;
  std::uint32_t partition = 0;
  StartCallback callback;
};

struct ActionInput {
  std::string saga_id;
  OperatorAction action;
  std::uint32_t partition = 0;
  SagaCallback callback;
};

using Request = std::variant<StartInput, ActionInput>;

/// Partitions that come or go. `done` is set when a revoked partition is no longer written.
struct Control {
  std::vector<journal::Assignment> assigned;
  std::vector<std::uint32_t> revoked;
  std::shared_ptr<std::promise<void>> done;
};

/// What waits for a lane. Bounded, thread-safe; putting never blocks.
class Mailbox final {
 public:
  Mailbox(std::size_t request_capacity, std::size_t reply_capacity) : request_capacity_(request_capacity), reply_capacity_(reply_capacity) {}

  /// False: no room; the argument is as it was. True: it was moved from.
  [[nodiscard]] bool put(Request& request);
  [[nodiscard]] bool put(participant::Reply& reply);
  [[nodiscard]] bool put(journal::InboxRecord& record);
  void put(Control control);

  struct Taken {
    std::vector<Request> requests;
    std::vector<participant::Reply> replies;
    std::vector<journal::InboxRecord> records;
    std::optional<MonotonicTime> waiting_since;  ///< of the longest-waiting of them
  };
  /// At most `limit` inputs; a burst of one kind leaves half of the room to the others.
  [[nodiscard]] Taken take(std::size_t limit);
  /// From now on there is no room for anything but controls.
  void close();
  [[nodiscard]] std::vector<Control> take_controls();

  /// Waits until there is something, wake() was called, or the time has come.
  void wait_until(MonotonicTime time);
  void wake();
  [[nodiscard]] bool is_empty() const;

 private:
  void arrived();

  const std::size_t request_capacity_;
  const std::size_t reply_capacity_;
  mutable std::mutex mutex_;
  std::condition_variable something_;
  bool woken_ = false;
  bool is_closed_ = false;
  std::deque<Request> requests_;
  std::deque<participant::Reply> replies_;
  std::deque<journal::InboxRecord> records_;
  std::vector<Control> controls_;
  std::optional<MonotonicTime> waiting_since_;  ///< the first input since take() left none
};

}  // namespace outrigger::saga
