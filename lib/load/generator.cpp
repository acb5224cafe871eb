#include "lib/load/generator.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <format>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/runtime/cpu.h"
#include "lib/runtime/duration.h"

namespace outrigger::load {
namespace {

class RealPace final : public Pace {
 public:
  MonotonicTime now() override { return std::chrono::steady_clock::now(); }
  void wait_until(MonotonicTime time, const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    std::condition_variable_any().wait_until(lock, stop, time, [] { return false; });
  }

 private:
  std::mutex mutex_;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

std::unique_ptr<Pace> real_pace() { return std::make_unique<RealPace>(); }

Profile profile_of(const LoadSettings& settings) {
  auto stages = settings.staircase;
  if (stages.empty()) {
    stages.push_back({.rate = settings.rate, .duration = settings.duration});
  }
  return {.stages = std::move(stages), .arrival = settings.arrival, .seed = settings.seed};
}

Result<void> validate(const LoadSettings& settings) {
  using std::chrono::nanoseconds;
  const auto profile = profile_of(settings);
  if (const auto duration = profile.duration(); duration <= nanoseconds{0} || duration > kLongestRun) {
    return fail(ErrorCode::kInvalidArgument,
                std::format("duration {}: give more than 0 and at most {}", format_duration(duration), format_duration(kLongestRun)));
  }
  if (profile.arrival == Arrival::kPoisson && profile.expected_requests() > kMostPoissonRequests) {
    return fail(ErrorCode::kInvalidArgument, std::format("Poisson arrival of {:.0f} requests: at most {:.0f}, lower the rate or the duration",
                                                         profile.expected_requests(), kMostPoissonRequests));
  }
  if (settings.connections == 0 || settings.connections > 1024) {
    return fail(ErrorCode::kInvalidArgument, std::format("connections {}: give 1 to 1024", settings.connections));
  }
  if (settings.timeout < std::chrono::milliseconds{1} || settings.timeout > std::chrono::minutes{5}) {
    return fail(ErrorCode::kInvalidArgument, std::format("timeout {}: give 1ms to 5m", format_duration(settings.timeout)));
  }
  return {};
}

void run_worker(Pacer& pacer, Sender& sender, Recorder& recorder, Pace& pace, MonotonicTime start, MonotonicTime hard_end,
                const std::stop_token& stop) {
  while (!stop.stop_requested() && pace.now() < hard_end) {
    const auto claim = pacer.claim(pace.now() - start);
    if (!claim) {
      return;
    }
    for (auto index = claim->dropped_from; index < claim->index; ++index) {
      recorder.dropped(pacer.schedule().intended(index));
    }
    if (start + claim->intended > pace.now()) {
      pace.wait_until(start + claim->intended, stop);
      if (pace.now() < start + claim->intended) {
        return;  // stopped before its time came: it was never due
      }
    }
    const auto started = pace.now();
    const auto answer = sender.send(claim->index);
    recorder.sent(claim->intended, started - start, pace.now() - start, answer);
  }
}

Summary run(const LoadSettings& settings, const std::function<std::unique_ptr<Sender>()>& make_sender, Recorder& recorder, MonotonicTime start,
            const std::stop_token& stop) {
  const double cpu_before = cpu_seconds();
  const auto profile = profile_of(settings);
  Pacer pacer(Schedule(profile, settings.max_requests), settings.backlog);
  const auto hard_end = start + profile.duration() + settings.timeout;
  std::atomic<MonotonicTime> told_to_stop{MonotonicTime::max()};
  {
    // What falls due while the last answers are awaited after a stop was never offered.
    const std::stop_callback note(stop, [&told_to_stop] { told_to_stop = std::chrono::steady_clock::now(); });
    std::vector<std::jthread> workers;
    workers.reserve(settings.connections);
    for (unsigned i = 0; i < settings.connections; ++i) {
      workers.emplace_back([&pacer, &recorder, start, hard_end, stop, sender = make_sender()] {
        RealPace pace;
        run_worker(pacer, *sender, recorder, pace, start, hard_end, stop);
      });
    }
  }
  Summary summary;
  summary.rate = profile.stages.front().rate;
  summary.planned = profile.duration();
  summary.profile = profile;
  summary.elapsed = std::chrono::steady_clock::now() - start;
  const auto rest = pacer.stop(std::min(summary.elapsed, std::chrono::nanoseconds{told_to_stop.load() - start}));
  for (auto index = rest.from; index < rest.end; ++index) {
    recorder.dropped(pacer.schedule().intended(index));
  }
  summary.measured = recorder.snapshot();
  summary.stopped_early = stop.stop_requested() && rest.end < pacer.schedule().total();
  summary.offered = summary.measured.all.sent + summary.measured.all.dropped;
  const double capacity = std::chrono::duration<double>(summary.elapsed).count() * available_cpus();
  summary.cpu_ratio = capacity > 0 ? (cpu_seconds() - cpu_before) / capacity : 0;
  return summary;
}

}  // namespace outrigger::load
