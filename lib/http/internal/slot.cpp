#include "lib/http/internal/slot.h"

#include "lib/http/internal/connection.h"
#include "lib/telemetry/log.h"

namespace outrigger::http::internal {

void call_guarded(const std::function<void()>& callback) {
  try {
    callback();
  } catch (const std::exception& error) {
    telemetry::log(telemetry::LogLevel::kError, "a handler's callback threw", {{"error", error.what()}});
  }
}

// A loop that stops drops what was posted to it: the writer must not wait for room that nobody makes.
Slot::~Slot() {
  if (stream_) {
    stream_->end();
  }
}

void Slot::send(Response response) {
  if (mailbox_->is_loop_thread()) {
    complete(std::move(response));
  } else {
    mailbox_->post([self = shared_from_this(), response = std::move(response)]() mutable { self->complete(std::move(response)); });
  }
}

std::shared_ptr<ResponseStream::Sink> Slot::stream(Response head) {
  auto buffer = std::make_shared<StreamBuffer>(weak_from_this(), mailbox_, stream_capacity_);
  if (mailbox_->is_loop_thread()) {
    begin_stream(std::move(head), buffer);
  } else if (!mailbox_->post(
                 [self = shared_from_this(), head = std::move(head), buffer]() mutable { self->begin_stream(std::move(head), buffer); })) {
    buffer->end();
  }
  return buffer;
}

void Slot::on_gone(std::function<void()> callback) {
  if (mailbox_->is_loop_thread()) {
    keep_callback(std::move(callback));
  } else {
    mailbox_->post([self = shared_from_this(), callback = std::move(callback)]() mutable { self->keep_callback(std::move(callback)); });
  }
}

void Slot::complete(Response response) {
  on_gone_ = nullptr;
  if (connection_ != nullptr) {
    response_ = std::move(response);
    connection_->answer_is_ready();
  }
}

void Slot::begin_stream(Response head, std::shared_ptr<StreamBuffer> stream) {
  stream_ = std::move(stream);
  if (connection_ == nullptr) {
    stream_->end();
    return;
  }
  response_ = std::move(head);
  connection_->answer_is_ready();
}

void Slot::stream_has_news() {
  if (connection_ != nullptr) {
    connection_->answer_is_ready();
  }
}

void Slot::detach() {
  connection_ = nullptr;
  if (stream_) {
    stream_->end();
  }
}

void Slot::keep_callback(std::function<void()> callback) {
  if (is_gone_) {
    call_guarded(callback);
  } else if (connection_ != nullptr && (!response_ || stream_)) {
    on_gone_ = std::move(callback);
  }
}

void Slot::client_gone() {
  is_gone_ = true;
  if (const auto callback = std::exchange(on_gone_, nullptr)) {
    call_guarded(callback);
  }
}

}  // namespace outrigger::http::internal
