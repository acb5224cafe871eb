#include "lib/http/internal/slot.h"

#include "lib/http/internal/connection.h"
#include "lib/telemetry/log.h"

namespace outrigger::http::internal {
namespace {

void call(const std::function<void()>& callback) {
  try {
    callback();
  } catch (const std::exception& error) {
    telemetry::log(telemetry::LogLevel::kError, "a callback for a gone client threw", {{"error", error.what()}});
  }
}

}  // namespace

void Slot::send(Response response) {
  if (mailbox_->is_loop_thread()) {
    complete(std::move(response));
  } else {
    mailbox_->post([self = shared_from_this(), response = std::move(response)]() mutable { self->complete(std::move(response)); });
  }
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

void Slot::keep_callback(std::function<void()> callback) {
  if (is_gone_) {
    call(callback);
  } else if (connection_ != nullptr && !response_) {
    on_gone_ = std::move(callback);
  }
}

void Slot::client_gone() {
  is_gone_ = true;
  if (const auto callback = std::exchange(on_gone_, nullptr)) {
    call(callback);
  }
}

}  // namespace outrigger::http::internal
