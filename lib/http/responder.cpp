#include "lib/http/responder.h"

namespace outrigger::http {

Responder::~Responder() {
  if (sink_) {
    sink_->send(Response::problem(500, reason_phrase(500), "the request ended without an answer"));
  }
}

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    const Responder unused(std::move(*this));
    sink_ = std::move(other.sink_);
  }
  return *this;
}

void Responder::send(Response response) {
  if (const auto sink = std::move(sink_)) {
    sink->send(std::move(response));
  }
}

ResponseStream Responder::stream(Response head) {
  const auto sink = std::move(sink_);
  return sink ? ResponseStream(sink->stream(std::move(head))) : ResponseStream();
}

void Responder::on_gone(std::function<void()> callback) {
  if (sink_) {
    sink_->on_gone(std::move(callback));
  }
}

}  // namespace outrigger::http
