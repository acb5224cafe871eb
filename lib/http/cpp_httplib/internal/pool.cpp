#include "lib/http/cpp_httplib/internal/pool.h"

#include "lib/http/cpp_httplib/metrics.h"
#include "lib/http/metrics.h"

namespace outrigger::http::cpp_httplib::internal {

Pool::Pool(const std::string& name, WorkerPool::Settings settings, const std::string& listener, telemetry::Registry& registry)
    : waiting_(registry.gauge(metrics::kPoolWaiting, {{"listener", listener}, {"pool", name}})),
      busy_(registry.gauge(metrics::kPoolBusy, {{"listener", listener}, {"pool", name}})),
      queue_full_(registry.counter(http::metrics::kLimitReached, {{"listener", listener}, {"limit", name + "_queue"}})),
      workers_(settings) {}

bool Pool::submit(WorkerPool::Task task) {
  waiting_.add(1);
  const auto taken = workers_.submit([this, task = std::move(task)]() mutable {
    waiting_.add(-1);
    busy_.add(1);
    task();
    task = nullptr;
    busy_.add(-1);
  });
  if (!taken) {
    waiting_.add(-1);
    queue_full_.add();
  }
  return taken.has_value();
}

}  // namespace outrigger::http::cpp_httplib::internal
