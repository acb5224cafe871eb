#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "lib/http/internal/mailbox.h"
#include "lib/http/response_stream.h"

namespace outrigger::http::internal {

class Slot;

/// What a ResponseStream wrote and the connection has not taken yet: the bounded buffer between a writer's thread and the loop.
/// The writer's half is the Sink; the functions below it belong to the loop.
class StreamBuffer final : public ResponseStream::Sink, public std::enable_shared_from_this<StreamBuffer> {
 public:
  StreamBuffer(std::weak_ptr<Slot> slot, std::shared_ptr<Mailbox> mailbox, std::size_t capacity_bytes)
      : slot_(std::move(slot)), mailbox_(std::move(mailbox)), capacity_(capacity_bytes) {}

  ResponseStream::Write write(std::string bytes) override;
  [[nodiscard]] bool has_room() const override;
  void on_room(std::function<void()> callback) override;
  void on_gone(std::function<void()> callback) override;
  void finish() override;
  void cut() override;

  struct Taken {
    std::string bytes;
    bool is_finished = false;  ///< nothing comes behind these bytes
    bool is_cut = false;       ///< the body will never be whole
    bool has_overrun = false;  ///< it is cut because the writer did not wait for room
  };
  /// All that waits; makes room.
  Taken take();
  [[nodiscard]] bool has_news() const;
  [[nodiscard]] bool has_overrun() const;
  /// Nobody reads any more: drops what waits and what will be written.
  void end();

 private:
  using Lock = std::unique_lock<std::mutex>;
  void wake(Lock lock);  ///< once until the loop looks; after it the lock is gone
  void wake_on_loop();
  void call_on_room();

  const std::weak_ptr<Slot> slot_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::string bytes_;
  std::function<void()> on_room_;
  bool is_waking_ = false;
  bool is_finished_ = false;
  bool is_cut_ = false;
  bool has_overrun_ = false;
  bool has_ended_ = false;
};

}  // namespace outrigger::http::internal
