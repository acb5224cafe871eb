#include "lib/load/recorder.h"

#include <algorithm>

namespace outrigger::load {
namespace {

void count(Window& window, std::chrono::nanoseconds intended, std::chrono::nanoseconds started, std::chrono::nanoseconds ended,
           std::chrono::nanoseconds late_after, const Answer& answer) {
  ++window.sent;
  window.late += started - intended > late_after ? 1 : 0;
  window.from_intended.add(ended - intended);
  switch (answer.outcome) {
    case Outcome::kOk: ++window.ok; break;
    case Outcome::kHttpError: ++window.http_errors; break;
    case Outcome::kTransport: ++window.transport_errors; break;
    case Outcome::kTimeout: ++window.timeouts; break;
  }
}

}  // namespace

void Window::merge(const Window& other) {
  sent += other.sent;
  ok += other.ok;
  http_errors += other.http_errors;
  transport_errors += other.transport_errors;
  timeouts += other.timeouts;
  late += other.late;
  dropped += other.dropped;
  from_intended.merge(other.from_intended);
}

Window Measurements::between(std::chrono::nanoseconds from, std::chrono::nanoseconds to) const {
  Window sum;
  sum.start = from;
  for (const auto& item : series) {
    if (item.start >= from && item.start + window <= to) {
      sum.merge(item);
    }
  }
  return sum;
}

Recorder::Recorder(std::chrono::nanoseconds window, std::chrono::nanoseconds late_after) : late_after_(late_after) { measured_.window = window; }

void Recorder::sent(std::chrono::nanoseconds intended, std::chrono::nanoseconds started, std::chrono::nanoseconds ended, const Answer& answer) {
  const std::lock_guard lock(mutex_);
  count(measured_.all, intended, started, ended, late_after_, answer);
  count(window_of(intended), intended, started, ended, late_after_, answer);
  measured_.from_actual.add(ended - started);
  measured_.last_start = std::max(measured_.last_start, started);
  if (answer.status != 0) {
    ++measured_.statuses[answer.status];
  }
}

void Recorder::dropped(std::chrono::nanoseconds intended) {
  const std::lock_guard lock(mutex_);
  ++measured_.all.dropped;
  ++window_of(intended).dropped;
}

Measurements Recorder::snapshot() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

Window& Recorder::window_of(std::chrono::nanoseconds intended) {
  const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, intended / measured_.window));
  while (measured_.series.size() <= index) {
    Window next;
    next.start = measured_.window * static_cast<std::int64_t>(measured_.series.size());
    measured_.series.push_back(std::move(next));
  }
  return measured_.series[index];
}

}  // namespace outrigger::load
