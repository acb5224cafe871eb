#include "lib/http/response_stream.h"

namespace outrigger::http {

ResponseStream::~ResponseStream() {
  if (sink_) {
    sink_->cut();
  }
}

ResponseStream& ResponseStream::operator=(ResponseStream&& other) noexcept {
  if (this != &other) {
    const ResponseStream unfinished(std::move(*this));
    sink_ = std::move(other.sink_);
  }
  return *this;
}

ResponseStream::Write ResponseStream::write(std::string bytes) { return sink_ ? sink_->write(std::move(bytes)) : Write::kEnded; }

bool ResponseStream::has_room() const { return sink_ && sink_->has_room(); }

void ResponseStream::on_room(std::function<void()> callback) {
  if (sink_) {
    sink_->on_room(std::move(callback));
  }
}

void ResponseStream::on_gone(std::function<void()> callback) {
  if (sink_) {
    sink_->on_gone(std::move(callback));
  }
}

void ResponseStream::finish() {
  if (const auto sink = std::move(sink_)) {
    sink->finish();
  }
}

}  // namespace outrigger::http
