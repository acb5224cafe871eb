#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "chaos/spec/scenario.h"
#include "tests/unit/chaos/scenario_text.h"

namespace outrigger::chaos {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string problems_of(const std::string& text, const Texts& overrides = {}) {
  const auto scenario = read_scenario(text, "s.yaml", overrides);
  EXPECT_FALSE(scenario.has_value()) << "the scenario was accepted:\n" << text;
  if (scenario) {
    return {};
  }
  EXPECT_EQ(scenario.error().code, ErrorCode::kInvalidArgument);
  return scenario.error().to_string();
}

std::string problems_with(std::string_view from, std::string_view to) { return problems_of(with(kScenario, from, to)); }

TEST(Scenario, IsReadWithItsParametersReplaced) {
  const auto scenario = read_scenario(kScenario, "s.yaml", {{"rate", "30/m"}, {"hits", "9"}});
  ASSERT_TRUE(scenario) << scenario.error().to_string();
  EXPECT_EQ(scenario->name, "slow");
  EXPECT_EQ(scenario->phases.inject, 4s);
  EXPECT_DOUBLE_EQ(scenario->load.rate.per_second(), 0.5);
  EXPECT_EQ(scenario->load.request.url.origin + scenario->load.request.url.target, "http://127.0.0.1:1/v1/orders");
  ASSERT_EQ(scenario->faults.size(), 1U);
  const auto& fault = scenario->faults.front();
  EXPECT_EQ(fault.admin, "unix:///tmp/a.sock");
  EXPECT_EQ(fault.trigger.percent_ppm, 500000U);
  EXPECT_EQ(std::get<Delay>(fault.action).fixed, 100ms);
  EXPECT_EQ(fault.longest_delay(), 120ms);
  EXPECT_EQ(fault.proof.min_hits, 9U);
  EXPECT_EQ(scenario->assertions.at(1).text(), "inject p99 <= 2s");
}

TEST(Scenario, TheOneThatShipsIsValid) {
  const std::filesystem::path root = std::getenv("OUTRIGGER_SOURCE_DIR");
  const auto scenario = read_scenario_file(root / "chaos/scenarios/slow-orders.yaml", {});
  EXPECT_TRUE(scenario.has_value()) << scenario.error().to_string();
}

TEST(Scenario, AMissingFileIsNamed) {
  const auto scenario = read_scenario_file("/nowhere/s.yaml", {});
  ASSERT_FALSE(scenario.has_value());
  EXPECT_THAT(scenario.error().to_string(), HasSubstr("/nowhere/s.yaml"));
}

TEST(Scenario, AMisspelledKeyIsNamedWithItsPlaceAndTheRightOne) {
  EXPECT_THAT(problems_with("phases:", "phasis:"), HasSubstr("s.yaml:6:3: unknown key 'phasis' in spec; did you mean 'phases'?"));
  EXPECT_THAT(problems_with("min_hits", "min_hit"), HasSubstr("did you mean 'min_hits'?"));
  EXPECT_THAT(problems_with("fixed:", "fixd:"), HasSubstr("did you mean 'fixed'?"));
  EXPECT_THAT(problems_with("consecutive:", "consecutve:"), HasSubstr("did you mean 'consecutive'?"));
  EXPECT_THAT(problems_with("primary:", "primry:"), HasSubstr("did you mean 'primary'?"));
  EXPECT_THAT(problems_with("path_prefix:", "path_prefx:"), HasSubstr("did you mean 'path_prefix'?"));
}

TEST(Scenario, ADuplicateKeyIsRefused) { EXPECT_THAT(problems_with("kind: Scenario", "kind: Scenario\nkind: Scenario"), HasSubstr("s.yaml:3:1")); }

TEST(Scenario, AnotherVersionIsToldWhatThisReleaseReads) {
  EXPECT_THAT(problems_with("v1alpha1", "v2"), HasSubstr("this release reads chaos.outrigger.dev/v1alpha1"));
}

TEST(Scenario, EveryProblemIsShownAtOnce) {
  const auto problems = problems_of(with(with(kScenario, "phases:", "phasis:"), "driver: sidecar", "driver: sidecart"));
  EXPECT_THAT(problems, HasSubstr("phasis"));
  EXPECT_THAT(problems, HasSubstr("'sidecar'"));
}

TEST(Parameters, OneThatIsNotDeclaredIsRefusedWithItsPlace) {
  EXPECT_THAT(problems_with("\"${rate}\"", "\"${rat}\""), HasSubstr("s.yaml:7:16: no parameter 'rat'; did you mean 'rate'?"));
  EXPECT_THAT(problems_of(std::string(kScenario), {{"rte", "1/s"}}), HasSubstr("--set rte"));
  EXPECT_THAT(problems_with("\"${rate}\"", "\"${rate\""), HasSubstr("'${' is not closed"));
}

TEST(Parameters, OneWithoutDefaultMustBeGiven) {
  const auto text = with(kScenario, "hits: 5", "hits: null");
  EXPECT_THAT(problems_of(text), HasSubstr("--set hits=VALUE"));
  EXPECT_TRUE(read_scenario(text, "s.yaml", {{"hits", "3"}}).has_value());
}

TEST(Parameters, ADollarCanBeWritten) {
  const auto scenario = read_scenario(with(kScenario, "\"{{run}}\"", "\"$${rate} $5\""), "s.yaml", {});
  ASSERT_TRUE(scenario) << scenario.error().to_string();
  EXPECT_EQ(scenario->load.request.headers.front().second, "${rate} $5");
}

TEST(Ttl, MustCoverInjectAndNotBeLongerThanTenMinutes) {
  EXPECT_THAT(problems_with("ttl: 30s", "ttl: 4s"), HasSubstr("s.yaml:17:12: ttl: 4s does not cover inject (4s)"));
  EXPECT_THAT(problems_with("ttl: 30s", "ttl: 601s"), HasSubstr("more than 10m"));
  EXPECT_THAT(problems_with("ttl: 30s", "reason: x"), HasSubstr("'ttl' is missing"));
  EXPECT_TRUE(read_scenario(with(kScenario, "ttl: 30s", "ttl: 5s"), "s.yaml", {}).has_value());
}

TEST(Fault, NeedsExactlyOneActionAndATargetOnAUnixSocket) {
  EXPECT_THAT(problems_with("{delay: {fixed: 100ms, jitter: 20ms}}", "{delay: {fixed: 1s}, abort: {status: 503}}"),
              HasSubstr("exactly one of delay and abort"));
  EXPECT_THAT(problems_with("{delay: {fixed: 100ms, jitter: 20ms}}", "{abort: {status: 200}}"), HasSubstr("400 to 599"));
  EXPECT_THAT(problems_with("{delay: {fixed: 100ms, jitter: 20ms}}", "{delay: {fixed: 0s}}"), HasSubstr("does nothing"));
  EXPECT_THAT(problems_with("unix:///tmp/a.sock", "127.0.0.1:9000"), HasSubstr("unix:///run/outrigger/admin.sock"));
  EXPECT_THAT(problems_with("- id: slow", "- id: Slow!"), HasSubstr("'Slow!'"));
}

TEST(Assertions, ThatCannotDecideAnythingAreRefused) {
  EXPECT_THAT(problems_with("metric: error_ratio, max: 0}", "metric: error_ratio, max: 1}"), HasSubstr("can never fail"));
  EXPECT_THAT(problems_with("metric: error_ratio, max: 0}", "metric: error_ratio}"), HasSubstr("exactly one of min and max"));
  EXPECT_THAT(problems_with("primary: true, ", ""), HasSubstr("mark exactly one"));
  EXPECT_THAT(problems_with("phase: inject, metric: p99", "phase: observe, metric: p99"), HasSubstr("observe has no length"));
  EXPECT_THAT(problems_with("metric: p99, max: 2s", "metric: p99, max: 2"), HasSubstr("p99"));
  EXPECT_THAT(problems_with("id: quick", "id: succeed"), HasSubstr("used twice"));
}

TEST(Phases, MustBeLongEnoughAndBounded) {
  EXPECT_THAT(problems_with("baseline: 4s", "baseline: 0s"), HasSubstr("too short"));
  EXPECT_THAT(problems_with("recover: 4s", "recover: 1h"), HasSubstr("more than 30m"));
}

}  // namespace
}  // namespace outrigger::chaos
