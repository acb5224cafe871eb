#include "chaos/runner/load_session.h"

#include <atomic>
#include <thread>

#include "chaos/runner/timing.h"
#include "lib/load/generator.h"
#include "lib/load/http_target.h"

namespace outrigger::chaos {
namespace {

/// What arming, reverting and probing may add to the phases while the load goes on.
constexpr std::chrono::minutes kSlack{2};

struct Counters {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> failed{0};
};

/// Counts as the answers come: a snapshot of the recorder copies every histogram and would hold the workers up.
class CountingSender final : public load::Sender {
 public:
  CountingSender(std::unique_ptr<load::Sender> sender, Counters& counters) : sender_(std::move(sender)), counters_(counters) {}

  load::Answer send(std::uint64_t index) override {
    const auto answer = sender_->send(index);
    if (answer.outcome != load::Outcome::kOk) {
      counters_.failed.fetch_add(1, std::memory_order_relaxed);
    }
    counters_.sent.fetch_add(1, std::memory_order_relaxed);
    return answer;
  }

 private:
  std::unique_ptr<load::Sender> sender_;
  Counters& counters_;
};

load::LoadSettings settings_of(const Scenario& scenario, unsigned connections) {
  load::LoadSettings settings;
  settings.rate = scenario.load.rate;
  settings.duration = scenario.phases.total() + kSlack;
  settings.connections = connections;
  settings.timeout = scenario.load.request.timeout;
  return settings;
}

}  // namespace

struct LoadSession::State {
  State(const Scenario& scenario, unsigned connections, const std::string& run_id)
      : settings(settings_of(scenario, connections)), recorder(window_length(scenario), settings.late_after) {
    thread = std::jthread([this, request = scenario.load.request, run_id](const std::stop_token& stop) {
      summary = load::run(
          settings, [&] { return std::make_unique<CountingSender>(load::make_http_sender(request, run_id), counters); }, recorder, start, stop);
      summary.target = request.method + " " + request.url.origin + request.url.target;
    });
  }

  const load::LoadSettings settings;
  const MonotonicTime start = std::chrono::steady_clock::now();
  load::Recorder recorder;
  Counters counters;
  load::Summary summary;
  std::jthread thread;
};

LoadSession::LoadSession(const Scenario& scenario, unsigned connections, const std::string& run_id)
    : state_(std::make_unique<State>(scenario, connections, run_id)) {}

LoadSession::~LoadSession() = default;

std::chrono::nanoseconds LoadSession::elapsed() const { return std::chrono::steady_clock::now() - state_->start; }

LoadSession::Totals LoadSession::totals() const {
  const auto failed = state_->counters.failed.load(std::memory_order_relaxed);
  return {.sent = state_->counters.sent.load(std::memory_order_relaxed), .failed = failed};
}

load::Summary LoadSession::finish() {
  if (state_->thread.joinable()) {
    state_->thread.request_stop();
    state_->thread.join();
  }
  return state_->summary;
}

}  // namespace outrigger::chaos
