#pragma once

#include <string>

#include "lib/runtime/worker_pool.h"
#include "lib/telemetry/metrics.h"

namespace outrigger::http::cpp_httplib::internal {

/// A worker pool with its gauges, and its full queue as a counted limit. Thread-safe. The destructor runs what is queued.
class Pool final {
 public:
  /// `name` is the label `pool`; its limit is `<name>_queue`.
  Pool(const std::string& name, WorkerPool::Settings settings, const std::string& listener, telemetry::Registry& registry);

  /// False when the queue is full: the task is gone, so it must share what it would answer with.
  [[nodiscard]] bool submit(WorkerPool::Task task);

 private:
  telemetry::Gauge& waiting_;
  telemetry::Gauge& busy_;
  telemetry::Counter& queue_full_;
  WorkerPool workers_;
};

}  // namespace outrigger::http::cpp_httplib::internal
