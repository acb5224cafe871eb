#include "chaos/runner/evidence.h"

#include <gtest/gtest.h>

#include "chaos/runner/watch.h"

namespace outrigger::chaos {
namespace {

using namespace std::chrono_literals;

/// `slow` samples of 1 s among `n` of 10 ms; `failed` of them are errors.
load::Window window(std::uint64_t n, std::uint64_t slow = 0, std::uint64_t failed = 0) {
  load::Window out;
  out.sent = n;
  out.ok = n - failed;
  out.http_errors = failed;
  for (std::uint64_t i = 0; i < n; ++i) {
    out.from_intended.add(i < slow ? std::chrono::nanoseconds{1s} : std::chrono::nanoseconds{10ms});
  }
  return out;
}

Assertion latency(Metric metric, std::chrono::nanoseconds limit, bool is_upper = true) {
  return {.id = "a", .primary = true, .phase = Phase::kInject, .metric = metric, .is_upper = is_upper, .limit = limit, .ratio = 0, .min_samples = 0};
}

Assertion ratio(Metric metric, double limit, bool is_upper = true) {
  return {.id = "a", .primary = true, .phase = Phase::kInject, .metric = metric, .is_upper = is_upper, .limit = {}, .ratio = limit, .min_samples = 0};
}

Finding finding(const Assertion& assertion, const load::Window& measured) { return judge(assertion, measured, kAlpha).finding; }

TEST(Statistics, BinomialTailsAreExact) {
  EXPECT_NEAR(binomial_at_most(0, 10, 0.5), 1.0 / 1024, 1e-12);
  EXPECT_NEAR(binomial_at_most(4, 10, 0.5), 386.0 / 1024, 1e-12);
  EXPECT_NEAR(binomial_at_most(7, 10, 0.5), 968.0 / 1024, 1e-12);
  EXPECT_NEAR(binomial_at_least(8, 10, 0.5), 56.0 / 1024, 1e-12);
  EXPECT_NEAR(binomial_at_least(3, 10, 0.5), 968.0 / 1024, 1e-12);
  EXPECT_EQ(binomial_at_most(10, 10, 0.5), 1);
  EXPECT_EQ(binomial_at_least(0, 10, 0.5), 1);
  EXPECT_EQ(binomial_at_least(11, 10, 0.5), 0);
}

TEST(Statistics, LargeSamplesStayFinite) {
  EXPECT_NEAR(binomial_at_most(10'000'000, 20'000'000, 0.5), 0.5, 1e-3);
  EXPECT_LT(binomial_at_most(100'000, 20'000'000, 0.01), 1e-9);
}

TEST(Statistics, LeastSamplesAreTheKnownOnes) {
  EXPECT_EQ(least_samples(0.01), 299U);
  EXPECT_EQ(least_samples(0.001), 2995U);
  EXPECT_EQ(least_samples(0), 299U);
}

TEST(Judging, P99PassesOnlyWhenALongerTailIsRefuted) {
  const auto assertion = latency(Metric::kP99, 500ms);
  EXPECT_EQ(finding(assertion, window(298)), Finding::kInconclusive);
  EXPECT_EQ(finding(assertion, window(299)), Finding::kPass);
  EXPECT_EQ(finding(assertion, window(299, 1)), Finding::kInconclusive);
  EXPECT_EQ(finding(assertion, window(1000, 10)), Finding::kInconclusive);
  EXPECT_EQ(finding(assertion, window(1000, 30)), Finding::kFail);
}

TEST(Judging, LowerLimitsOfLatencyAreTurnedRound) {
  EXPECT_EQ(finding(latency(Metric::kP50, 5ms, false), window(100)), Finding::kPass);
  EXPECT_EQ(finding(latency(Metric::kP50, 500ms, false), window(100)), Finding::kFail);
  EXPECT_EQ(finding(latency(Metric::kP50, 500ms, false), window(100, 90)), Finding::kPass);
}

TEST(Judging, NoErrorAllowedMeansNone) {
  EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0), window(299)), Finding::kPass);
  EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0), window(298)), Finding::kInconclusive);
  EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0), window(298, 0, 1)), Finding::kFail);
}

TEST(Judging, ErrorRatioAndAvailabilityAreMirrorImages) {
  for (const std::uint64_t failed : {0U, 2U, 10U, 40U, 400U}) {
    const auto measured = window(1000, 0, failed);
    EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0.01), measured), finding(ratio(Metric::kAvailability, 0.99, false), measured)) << failed;
    EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0.01, false), measured), finding(ratio(Metric::kAvailability, 0.99), measured)) << failed;
  }
  EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0.01), window(1000, 0, 2)), Finding::kPass);
  EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0.01), window(1000, 0, 40)), Finding::kFail);
  EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0.01, false), window(1000, 0, 40)), Finding::kPass);
}

TEST(Judging, NothingMeasuredIsNeverAPass) {
  for (const auto metric : {Metric::kP50, Metric::kP99}) {
    EXPECT_EQ(finding(latency(metric, 1s), window(0)), Finding::kInconclusive);
  }
  EXPECT_EQ(finding(ratio(Metric::kErrorRatio, 0), window(0)), Finding::kInconclusive);
  EXPECT_EQ(finding(ratio(Metric::kAvailability, 0.5, false), window(0)), Finding::kInconclusive);
}

TEST(Judging, AskingForMoreSamplesIsHeeded) {
  auto assertion = ratio(Metric::kErrorRatio, 0);
  assertion.min_samples = 1000;
  EXPECT_EQ(finding(assertion, window(999)), Finding::kInconclusive);
  EXPECT_EQ(finding(assertion, window(1000)), Finding::kPass);
}

TEST(DoseProof, NeedsHitsAndTheShiftThatWasDeclared) {
  const Dose good{.fault = "f",
                  .hits = 5,
                  .min_hits = 5,
                  .requested_delay = 100ms,
                  .shift = 110ms,
                  .proof = {.min_hits = 5, .min_shift = 80ms, .max_shift = 200ms}};
  EXPECT_TRUE(doubts_of(good).empty());
  auto few = good;
  few.hits = 4;
  EXPECT_EQ(doubts_of(few).size(), 1U);
  auto weak = good;
  weak.shift = 79ms;
  EXPECT_EQ(doubts_of(weak).size(), 1U);
  auto strong = good;
  strong.shift = 201ms;
  EXPECT_EQ(doubts_of(strong).size(), 1U);
  auto lost = good;
  lost.is_lost = true;
  EXPECT_EQ(doubts_of(lost).size(), 1U);
}

TEST(Baseline, IsDoubtedWhenItsHalvesDifferOrAreEmpty) {
  EXPECT_TRUE(baseline_doubts(window(50), window(50)).empty());
  EXPECT_EQ(baseline_doubts(window(50), window(50, 50)).size(), 1U);
  EXPECT_EQ(baseline_doubts(window(50), window(9)).size(), 1U);
  EXPECT_EQ(baseline_doubts(window(0), window(50)).size(), 1U);
}

TEST(Guardrails, BreachOnlyAfterConsecutiveBadIntervals) {
  GuardrailWatch watch({.max_error_ratio = 0.5, .consecutive = 2, .interval = 1s});
  EXPECT_FALSE(watch.see(1s, 10, 6));
  EXPECT_FALSE(watch.see(2s, 20, 8)) << "a good interval starts the count again";
  EXPECT_FALSE(watch.see(3s, 30, 18));
  EXPECT_FALSE(watch.see(3500ms, 31, 19)) << "half an interval does not count";
  EXPECT_TRUE(watch.see(4s, 40, 28));
}

TEST(Guardrails, SilenceNeitherBreachesNorForgives) {
  GuardrailWatch watch({.max_error_ratio = 0.5, .consecutive = 2, .interval = 1s});
  EXPECT_FALSE(watch.see(1s, 10, 10));
  EXPECT_FALSE(watch.see(2s, 10, 10));
  EXPECT_FALSE(watch.see(3s, 10, 10));
  EXPECT_TRUE(watch.see(4s, 11, 11));
}

}  // namespace
}  // namespace outrigger::chaos
