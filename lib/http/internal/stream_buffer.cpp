#include "lib/http/internal/stream_buffer.h"

#include "lib/http/internal/slot.h"

namespace outrigger::http::internal {

using Write = ResponseStream::Write;

Write StreamBuffer::write(std::string bytes) {
  Lock lock(mutex_);
  if (has_ended_ || is_cut_) {
    return Write::kEnded;
  }
  if (bytes_.size() >= capacity_) {
    is_cut_ = has_overrun_ = true;
    bytes_ = {};
    wake(std::move(lock));
    return Write::kEnded;
  }
  if (bytes_.empty()) {
    bytes_ = std::move(bytes);
  } else {
    bytes_ += bytes;
  }
  const auto result = bytes_.size() < capacity_ ? Write::kRoom : Write::kFull;
  if (!bytes_.empty()) {
    wake(std::move(lock));
  }
  return result;
}

bool StreamBuffer::has_room() const {
  const std::lock_guard lock(mutex_);
  return !has_ended_ && !is_cut_ && bytes_.size() < capacity_;
}

void StreamBuffer::on_room(std::function<void()> callback) {
  Lock lock(mutex_);
  on_room_ = std::move(callback);
  if (has_ended_ || bytes_.size() < capacity_) {
    wake(std::move(lock));
  }
}

void StreamBuffer::on_gone(std::function<void()> callback) {
  if (const auto slot = slot_.lock()) {
    slot->on_gone(std::move(callback));
  } else {
    mailbox_->post([callback = std::move(callback)] { callback(); });
  }
}

void StreamBuffer::finish() {
  Lock lock(mutex_);
  is_finished_ = true;
  wake(std::move(lock));
}

void StreamBuffer::cut() {
  Lock lock(mutex_);
  is_cut_ = true;
  wake(std::move(lock));
}

void StreamBuffer::wake(Lock lock) {
  const bool is_first = !std::exchange(is_waking_, true);
  lock.unlock();
  if (is_first) {
    mailbox_->post([self = shared_from_this()] { self->wake_on_loop(); });
  }
}

void StreamBuffer::wake_on_loop() {
  {
    const std::lock_guard lock(mutex_);
    is_waking_ = false;
  }
  if (const auto slot = slot_.lock()) {
    slot->stream_has_news();
  }
  call_on_room();
}

StreamBuffer::Taken StreamBuffer::take() {
  Taken taken;
  {
    const std::lock_guard lock(mutex_);
    taken = {.bytes = std::exchange(bytes_, {}), .is_finished = is_finished_, .is_cut = is_cut_, .has_overrun = has_overrun_};
  }
  call_on_room();
  return taken;
}

bool StreamBuffer::has_news() const {
  const std::lock_guard lock(mutex_);
  return !bytes_.empty() || is_finished_ || is_cut_;
}

bool StreamBuffer::has_overrun() const {
  const std::lock_guard lock(mutex_);
  return has_overrun_;
}

void StreamBuffer::end() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    bytes_ = {};
  }
  call_on_room();
}

void StreamBuffer::call_on_room() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    if (has_ended_ || bytes_.size() < capacity_) {
      callback = std::exchange(on_room_, nullptr);
    }
  }
  if (callback) {
    call_guarded(callback);
  }
}

}  // namespace outrigger::http::internal
