#include "lib/load/generator.h"

#include <gtest/gtest.h>

namespace outrigger::load {
namespace {

using namespace std::chrono_literals;

/// Time that moves only when somebody waits or a request takes its time.
class VirtualPace final : public Pace {
 public:
  MonotonicTime now() override { return now_; }
  void wait_until(MonotonicTime time, const std::stop_token&) override { now_ = std::max(now_, time); }
  void pass(std::chrono::nanoseconds time) { now_ += time; }

 private:
  MonotonicTime now_{};
};

class ScriptedSender final : public Sender {
 public:
  ScriptedSender(VirtualPace& pace, std::function<std::pair<std::chrono::nanoseconds, Answer>(std::uint64_t)> script)
      : pace_(pace), script_(std::move(script)) {}
  Answer send(std::uint64_t index) override {
    const auto [time, answer] = script_(index);
    pace_.pass(time);
    return answer;
  }

 private:
  VirtualPace& pace_;
  std::function<std::pair<std::chrono::nanoseconds, Answer>(std::uint64_t)> script_;
};

struct VirtualRun {
  explicit VirtualRun(Schedule schedule, std::uint64_t backlog = 1000) : pacer(schedule, backlog) {}
  Measurements with(std::function<std::pair<std::chrono::nanoseconds, Answer>(std::uint64_t)> script, std::chrono::nanoseconds hard_end = 1h) {
    ScriptedSender sender(pace, std::move(script));
    run_worker(pacer, sender, recorder, pace, MonotonicTime{}, MonotonicTime{} + std::chrono::duration_cast<MonotonicTime::duration>(hard_end), {});
    return recorder.snapshot();
  }
  VirtualPace pace;
  Pacer pacer;
  Recorder recorder{1s, 10ms};
};

constexpr Answer kFine{Outcome::kOk, 200};

TEST(Generator, ATargetThatKeepsUpShowsItsOwnLatency) {
  VirtualRun run(Schedule({10, 1s}, 1s));
  const auto measured = run.with([](auto) { return std::pair{5ms, kFine}; });
  EXPECT_EQ(measured.all.sent, 10U);
  EXPECT_EQ(measured.all.ok, 10U);
  EXPECT_EQ(measured.all.late, 0U);
  EXPECT_EQ(measured.all.from_intended.maximum(), 5ms);
  EXPECT_EQ(measured.from_actual.maximum(), 5ms);
}

TEST(Generator, AStallIsCountedForEveryRequestThatHadToWaitBehindIt) {
  VirtualRun run(Schedule({10, 1s}, 2s));
  const auto measured = run.with([](std::uint64_t index) { return std::pair{index == 0 ? std::chrono::nanoseconds{1s} : 1ms, kFine}; });
  // The one worker is held for 1 s; requests 1 to 9 were meant to start meanwhile.
  EXPECT_EQ(measured.all.sent, 20U);
  EXPECT_LT(measured.from_actual.quantile(0.9), 2ms);
  EXPECT_GT(measured.all.from_intended.quantile(0.55), 100ms);
  EXPECT_EQ(measured.all.from_intended.maximum(), 1s);
  EXPECT_GE(measured.all.late, 9U);
}

TEST(Generator, CountsDroppedRequestsInTheSecondTheyWereMeantFor) {
  VirtualRun run(Schedule({10, 1s}, 3s), 2);
  const auto measured = run.with([](std::uint64_t index) { return std::pair{index == 0 ? std::chrono::nanoseconds{2s} : 1ms, kFine}; });
  EXPECT_EQ(measured.all.sent + measured.all.dropped, 30U);
  ASSERT_EQ(measured.series.size(), 3U);
  EXPECT_EQ(measured.series[0].dropped, 9U);
  EXPECT_GE(measured.series[1].dropped, 8U);
  EXPECT_EQ(measured.series[2].dropped, 0U);
}

TEST(Generator, CountsEveryOutcomeAndItsStatus) {
  VirtualRun run(Schedule({4, 1s}, 1s));
  const auto measured = run.with([](std::uint64_t index) {
    const std::array answers{kFine, Answer{Outcome::kHttpError, 503}, Answer{Outcome::kTransport, 0}, Answer{Outcome::kTimeout, 0}};
    return std::pair{1ms, answers[index]};
  });
  EXPECT_EQ(measured.all.ok, 1U);
  EXPECT_EQ(measured.all.http_errors, 1U);
  EXPECT_EQ(measured.all.transport_errors, 1U);
  EXPECT_EQ(measured.all.timeouts, 1U);
  EXPECT_EQ(measured.all.failed(), 3U);
  EXPECT_EQ(measured.all.from_intended.count(), 4U);
  EXPECT_EQ(measured.statuses.at(503), 1U);
}

TEST(Generator, EndsAtItsHardEndHoweverMuchIsLeft) {
  VirtualRun run(Schedule({100, 1s}, 10s), 100'000);
  const auto measured = run.with([](auto) { return std::pair{1s, kFine}; }, 5s);
  EXPECT_EQ(measured.all.sent, 5U);
}

TEST(Generator, WindowsAreSummedOnlyWhenTheyLieInsideTheInterval) {
  VirtualRun run(Schedule({10, 1s}, 4s));
  const auto measured = run.with([](auto) { return std::pair{1ms, kFine}; });
  EXPECT_EQ(measured.between(1s, 3s).sent, 20U);
  EXPECT_EQ(measured.between(500ms, 2500ms).sent, 10U);
  EXPECT_EQ(measured.between(3500ms, 9s).sent, 0U);
}

TEST(Generator, RunsForRealWithThreadsAndStopsWhenTold) {
  class Instant final : public Sender {
   public:
    Answer send(std::uint64_t) override { return kFine; }
  };
  LoadSettings settings;
  settings.rate = {2000, 1s};
  settings.duration = 50ms;
  settings.connections = 4;
  Recorder recorder(1s, 10s);
  const auto summary = run(settings, [] { return std::make_unique<Instant>(); }, recorder, std::chrono::steady_clock::now(), {});
  EXPECT_EQ(summary.offered, 100U);
  EXPECT_EQ(summary.measured.all.sent + summary.measured.all.dropped, 100U);

  settings.duration = 1h;
  std::stop_source stop;
  Recorder second(1s, 10s);
  std::jthread stopper([&] {
    while (second.snapshot().all.sent < 10) {
      std::this_thread::yield();
    }
    stop.request_stop();
  });
  const auto stopped = run(settings, [] { return std::make_unique<Instant>(); }, second, std::chrono::steady_clock::now(), stop.get_token());
  EXPECT_TRUE(stopped.stopped_early);
  EXPECT_GE(stopped.measured.all.sent, 10U);
}

TEST(Generator, AStallInOneStageIsSeenInThatStage) {
  Profile profile{.stages = parse_staircase("10/s@2s,20/s@2s").value()};
  VirtualRun run{Schedule(profile)};
  Summary summary;
  summary.profile = profile;
  summary.measured = run.with([](std::uint64_t i) { return std::pair<std::chrono::nanoseconds, Answer>{i == 19 ? 50ms : 1ms, kFine}; });
  const auto stages = by_stage(summary);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].measured.sent, 20U);
  EXPECT_EQ(stages[1].measured.sent, 40U);
  EXPECT_EQ(stages[0].measured.from_intended.maximum(), 50ms);
  EXPECT_EQ(stages[1].measured.from_intended.maximum(), 1ms);
  EXPECT_EQ(stages[1].start, 2s);
}

TEST(Generator, RefusesSettingsOutOfBounds) {
  LoadSettings settings;
  EXPECT_TRUE(validate(settings));
  settings.staircase = parse_staircase("1/s@30m,2/s@31m").value();
  EXPECT_FALSE(validate(settings));
  settings.staircase = parse_staircase("10000/s@10m").value();
  EXPECT_TRUE(validate(settings));
  settings.arrival = Arrival::kPoisson;
  EXPECT_FALSE(validate(settings)) << "more starts than are kept in memory";
  settings = {};
  settings.duration = 2h;
  EXPECT_FALSE(validate(settings));
  settings.duration = 1s;
  settings.connections = 0;
  EXPECT_FALSE(validate(settings));
}

}  // namespace
}  // namespace outrigger::load
