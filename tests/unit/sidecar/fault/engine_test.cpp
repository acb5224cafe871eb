#include "sidecar/fault/engine.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/telemetry/exposition.h"

namespace outrigger::fault {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

http::Request request(std::string path, std::vector<std::pair<std::string, std::string>> headers = {}) {
  http::Request made;
  made.path = std::move(path);
  made.headers = std::move(headers);
  return made;
}

Specification delay_of(std::string id, milliseconds fixed) {
  return {.id = std::move(id), .reason = {}, .ttl = seconds{30}, .match = {}, .trigger = {}, .action = Delay{.fixed = fixed, .jitter = {}}};
}

Specification abort_with(std::string id, int status) {
  return {.id = std::move(id), .reason = {}, .ttl = seconds{30}, .match = {}, .trigger = {}, .action = Abort{.status = status}};
}

class EngineTest : public testing::Test {
 protected:
  static Settings enabled() {
    Settings settings;
    settings.is_enabled = true;
    return settings;
  }

  std::string scrape() { return telemetry::serialize(registry_.Collect(), telemetry::ExpositionFormat::kPrometheusText); }

  void pass(std::chrono::nanoseconds time) { now_ += time; }

  MonotonicTime now_{std::chrono::hours{1}};
  telemetry::Registry registry_;
  Engine engine_{enabled(), registry_, {.monotonic = [this] { return now_; }, .wall = [] { return WallTime{seconds{1'800'000'000}}; }}};
};

TEST_F(EngineTest, LeavesRequestsAloneWhileNothingIsArmed) { EXPECT_TRUE(engine_.decide(request("/")).is_none()); }

TEST_F(EngineTest, AppliesADelay) {
  ASSERT_TRUE(engine_.create(delay_of("slow", milliseconds{300})));
  const Decision decision = engine_.decide(request("/v1/orders"));
  EXPECT_EQ(decision.delay, milliseconds{300});
  EXPECT_EQ(decision.abort_status, std::nullopt);
  EXPECT_EQ(decision.faults, "slow");
}

TEST_F(EngineTest, AnAbortSaysThatItWasInjected) {
  ASSERT_TRUE(engine_.create(abort_with("broken", 503)));
  const auto response = abort_response(engine_.decide(request("/v1/orders")));
  EXPECT_EQ(response.status, 503);
  EXPECT_TRUE(response.body.contains("injected by the fault broken")) << response.body;
}

TEST_F(EngineTest, EndsWithItsTtlThoughNobodyAsks) {
  ASSERT_TRUE(engine_.create(delay_of("slow", milliseconds{300})));
  pass(seconds{30} - std::chrono::nanoseconds{1});
  EXPECT_FALSE(engine_.decide(request("/")).is_none());
  EXPECT_EQ(engine_.list().size(), 1U);
  pass(std::chrono::nanoseconds{1});
  EXPECT_TRUE(engine_.decide(request("/")).is_none());
  EXPECT_TRUE(engine_.list().empty());
  EXPECT_EQ(engine_.get("slow").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(scrape().contains("outrigger_sidecar_fault_active 0\n")) << scrape();
}

TEST_F(EngineTest, CountsHowFaultsEnded) {
  ASSERT_TRUE(engine_.create(delay_of("one", milliseconds{1})));
  ASSERT_TRUE(engine_.create(delay_of("two", milliseconds{1})));
  ASSERT_TRUE(engine_.remove("one"));
  pass(seconds{31});
  engine_.sweep();
  ASSERT_TRUE(engine_.create(delay_of("three", milliseconds{1})));
  engine_.disarm_all(DisarmReason::kKillSwitch);
  const std::string text = scrape();
  EXPECT_TRUE(text.contains("outrigger_sidecar_fault_disarmed_total{reason=\"ttl\"} 1\n")) << text;
  EXPECT_TRUE(text.contains("outrigger_sidecar_fault_disarmed_total{reason=\"deleted\"} 1\n")) << text;
  EXPECT_TRUE(text.contains("outrigger_sidecar_fault_disarmed_total{reason=\"kill_switch\"} 1\n")) << text;
  EXPECT_TRUE(text.contains("outrigger_sidecar_fault_disarmed_total{reason=\"drain\"} 0\n")) << text;
}

TEST_F(EngineTest, ShowsTheExpiryOfArmedFaultsOnly) {
  ASSERT_TRUE(engine_.create(delay_of("slow", milliseconds{1})));
  EXPECT_TRUE(scrape().contains("outrigger_sidecar_fault_expiry_timestamp_seconds{fault=\"slow\"} 1800000030\n")) << scrape();
  engine_.disarm_all(DisarmReason::kKillSwitch);
  EXPECT_FALSE(scrape().contains("expiry_timestamp_seconds{fault=\"slow\"}")) << scrape();
}

TEST_F(EngineTest, CountsHitsAndSkips) {
  Specification half = delay_of("half", milliseconds{1});
  half.match.path_prefix = "/v1";
  half.trigger = {.percent_ppm = 500'000, .seed = 7};
  ASSERT_TRUE(engine_.create(half));
  std::uint64_t applied = 0;
  for (int i = 0; i < 1000; ++i) {
    applied += engine_.decide(request("/v1/orders")).is_none() ? 0U : 1U;
    EXPECT_TRUE(engine_.decide(request("/v2")).is_none());
  }
  const State state = engine_.get("half").value();
  EXPECT_EQ(state.hits, applied);
  EXPECT_EQ(state.hits + state.skipped, 1000U);
  // Without trace ids the keys are the ordinals 0 to 999, so the number is exact and repeatable.
  std::uint64_t expected = 0;
  for (int i = 0; i < 1000; ++i) {
    expected += selects(half.trigger, half.id, std::to_string(i)) ? 1U : 0U;
  }
  EXPECT_EQ(applied, expected);
  EXPECT_TRUE(scrape().contains("outrigger_sidecar_fault_injected_total{fault=\"half\",action=\"delay\"} " + std::to_string(applied) + "\n"))
      << scrape();
}

TEST_F(EngineTest, OneTraceGetsOneVerdict) {
  Specification half = delay_of("half", milliseconds{1});
  half.trigger = {.percent_ppm = 500'000, .seed = 7};
  ASSERT_TRUE(engine_.create(half));
  int hit_traces = 0;
  for (int trace = 0; trace < 64; ++trace) {
    const std::string id = std::format("{:032x}", trace + 1);
    const auto traced = request("/", {{"traceparent", "00-" + id + "-00000000000000aa-01"}});
    const bool first = engine_.decide(traced).is_none();
    EXPECT_EQ(first, engine_.decide(traced).is_none());
    EXPECT_EQ(!first, selects(half.trigger, "half", id));
    hit_traces += first ? 0 : 1;
  }
  EXPECT_GT(hit_traces, 10);
  EXPECT_LT(hit_traces, 54);
}

TEST_F(EngineTest, TheOldestDelayAndTheOldestAbortApplyTogether) {
  ASSERT_TRUE(engine_.create(delay_of("delay-1", milliseconds{100})));
  ASSERT_TRUE(engine_.create(abort_with("abort-1", 503)));
  ASSERT_TRUE(engine_.create(delay_of("delay-2", milliseconds{900})));
  ASSERT_TRUE(engine_.create(abort_with("abort-2", 500)));
  const Decision decision = engine_.decide(request("/"));
  EXPECT_EQ(decision.delay, milliseconds{100});
  EXPECT_EQ(decision.abort_status, 503);
  EXPECT_EQ(decision.faults, "delay-1,abort-1");
  EXPECT_EQ(engine_.get("delay-2").value().skipped, 1U);
  EXPECT_TRUE(scrape().contains("outrigger_sidecar_fault_skipped_total{fault=\"abort-2\",reason=\"shadowed\"} 1\n")) << scrape();
}

TEST_F(EngineTest, AnOlderFaultThatIsNotSelectedDoesNotShadow) {
  Specification never = delay_of("never", milliseconds{100});
  never.trigger.percent_ppm = 0;
  ASSERT_TRUE(engine_.create(never));
  ASSERT_TRUE(engine_.create(delay_of("always", milliseconds{200})));
  EXPECT_EQ(engine_.decide(request("/")).delay, milliseconds{200});
}

TEST_F(EngineTest, NeverTouchesHealthEndpoints) {
  ASSERT_TRUE(engine_.create(abort_with("broken", 503)));
  for (const char* path : {"/livez", "/readyz", "/healthz", "/metrics", "/api/health"}) {
    EXPECT_TRUE(engine_.decide(request(path)).is_none()) << path;
  }
  EXPECT_EQ(engine_.get("broken").value().hits, 0U);
}

TEST_F(EngineTest, RefusesAFaultThatIsForAHealthEndpointOnly) {
  Specification fault = abort_with("broken", 503);
  fault.match.path_prefix = "/api/health";
  EXPECT_EQ(engine_.create(fault).error().context, "fault.match.http.path_prefix");
  fault.match.path_prefix = "/api";
  EXPECT_TRUE(engine_.create(fault));
}

TEST_F(EngineTest, TheSameAgainIsTheSameFaultAndNotProlonged) {
  const State first = engine_.create(delay_of("slow", milliseconds{300})).value();
  pass(seconds{20});
  EXPECT_EQ(engine_.create(delay_of("slow", milliseconds{300})).value().expires, first.expires);
  pass(seconds{10});
  EXPECT_TRUE(engine_.decide(request("/")).is_none());
}

TEST_F(EngineTest, AnotherSpecificationUnderOneIdIsRefused) {
  ASSERT_TRUE(engine_.create(delay_of("slow", milliseconds{300})));
  EXPECT_EQ(engine_.create(delay_of("slow", milliseconds{400})).error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(engine_.decide(request("/")).delay, milliseconds{300});
}

TEST_F(EngineTest, AnIdIsFreeOnceItsFaultHasEnded) {
  ASSERT_TRUE(engine_.create(delay_of("slow", milliseconds{300})));
  EXPECT_FALSE(engine_.decide(request("/")).is_none());
  pass(seconds{30});
  const auto again = engine_.create(delay_of("slow", milliseconds{400}));
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->hits, 0U);
  EXPECT_EQ(engine_.decide(request("/")).delay, milliseconds{400});
}

TEST_F(EngineTest, ValidationArmsNothing) {
  ASSERT_TRUE(engine_.create(delay_of("slow", milliseconds{300}), true));
  EXPECT_TRUE(engine_.list().empty());
  EXPECT_TRUE(engine_.decide(request("/")).is_none());
  EXPECT_EQ(engine_.create(delay_of("slow", milliseconds{0}), true).error().context, "fault.delay");
}

TEST_F(EngineTest, HoldsAtMostItsLimitOfLivingFaults) {
  for (int i = 0; i < 32; ++i) {
    ASSERT_TRUE(engine_.create(delay_of("f" + std::to_string(i), milliseconds{1})));
  }
  EXPECT_EQ(engine_.create(delay_of("one-more", milliseconds{1})).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(scrape().contains("outrigger_sidecar_fault_limit_reached_total{limit=\"faults\"} 1\n")) << scrape();
  pass(seconds{30});
  EXPECT_TRUE(engine_.create(delay_of("one-more", milliseconds{1})));
  EXPECT_EQ(engine_.list().size(), 1U);
}

TEST_F(EngineTest, ReturnsTheLastStateOfWhatIsRemoved) {
  ASSERT_TRUE(engine_.create(delay_of("slow", milliseconds{1})));
  EXPECT_FALSE(engine_.decide(request("/")).is_none());
  EXPECT_EQ(engine_.remove("slow").value().hits, 1U);
  EXPECT_EQ(engine_.remove("slow").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(engine_.decide(request("/")).is_none());
}

TEST_F(EngineTest, ArmsNothingOnceItDrains) {
  ASSERT_TRUE(engine_.create(delay_of("slow", milliseconds{1})));
  EXPECT_EQ(engine_.disarm_all(DisarmReason::kDrain).size(), 1U);
  EXPECT_EQ(engine_.create(delay_of("slow", milliseconds{1})).error().code, ErrorCode::kFailedPrecondition);
}

TEST(Engine, RefusesToArmUnlessEnabled) {
  telemetry::Registry registry;
  Engine engine(Settings{}, registry);
  const auto refused = engine.create(delay_of("slow", milliseconds{1}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(refused.error().message.contains("--faults-enabled")) << refused.error().message;
}

TEST(Engine, CountsEveryHitWhileFaultsComeAndGo) {
  telemetry::Registry registry;
  Settings settings;
  settings.is_enabled = true;
  Engine engine(settings, registry);
  ASSERT_TRUE(engine.create(delay_of("steady", milliseconds{1})));
  constexpr int kThreads = 4, kRequests = 2000;
  std::atomic<bool> is_done{false};
  std::jthread changer([&] {
    while (!is_done) {
      EXPECT_TRUE(engine.create(abort_with("coming-and-going", 503)));
      EXPECT_FALSE(registry.Collect().empty());
      EXPECT_TRUE(engine.remove("coming-and-going"));
    }
  });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        const auto asked = request("/v1/orders");
        for (int i = 0; i < kRequests; ++i) {
          EXPECT_TRUE(engine.decide(asked).delay.has_value());
        }
      });
    }
  }
  is_done = true;
  changer.join();
  EXPECT_EQ(engine.get("steady").value().hits, static_cast<std::uint64_t>(kThreads * kRequests));
}

}  // namespace
}  // namespace outrigger::fault
