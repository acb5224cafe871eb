#include "slo/spec/openslo.h"

#include <gtest/gtest.h>

namespace outrigger::slo {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kDocument = R"(apiVersion: openslo/v1
kind: SLO
metadata:
  name: orders
  displayName: Orders succeed
  annotations:
    outrigger.dev/min-bad-events: "25"
    example.com/other: kept
spec:
  description: text
  service: shop
  indicator:
    metadata:
      name: orders
    spec:
      ratioMetric:
        counter: true
        bad:
          metricSource:
            type: Prometheus
            spec:
              query: failed_total
        total:
          metricSource:
            type: Prometheus
            spec:
              query: all_total{a="b"}
  timeWindow:
    - duration: 30d
      isRolling: true
  budgetingMethod: Occurrences
  objectives:
    - targetPercent: 99.995
)";

Result<std::vector<Slo>> read(std::string_view from = {}, std::string_view to = {}) {
  std::string text(kDocument);
  if (!from.empty()) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  return read_openslo(yaml::parse(text, "f.yaml").value());
}

std::string problem(std::string_view from, std::string_view to) {
  const auto result = read(from, to);
  return result ? "accepted" : result.error().message;
}

TEST(OpenSlo, ReadsTheProfile) {
  const auto slos = read().value();
  ASSERT_EQ(slos.size(), 1U);
  const auto& slo = slos[0];
  EXPECT_EQ(slo.name, "orders");
  EXPECT_EQ(slo.display_name, "Orders succeed");
  EXPECT_EQ(slo.service, "shop");
  EXPECT_EQ(slo.component, "shop");
  EXPECT_EQ(slo.target.to_string(), "0.99995");
  EXPECT_EQ(slo.budget().to_string(), "0.00005");
  EXPECT_EQ(slo.bad->to_string(), "failed_total");
  EXPECT_FALSE(slo.good);
  EXPECT_EQ(slo.total.to_string(), "all_total{a=\"b\"}");
  EXPECT_EQ(slo.min_bad_events, 25U);
  EXPECT_EQ(slo.period, 720h);
}

TEST(OpenSlo, SeveralObjectivesGetTheirNumberInTheName) {
  const auto slos = read("    - targetPercent: 99.995\n", "    - target: 0.999\n    - target: 0.99\n").value();
  ASSERT_EQ(slos.size(), 2U);
  EXPECT_EQ(slos[0].name, "orders-1");
  EXPECT_EQ(slos[1].target.to_string(), "0.99");
}

TEST(OpenSlo, NamesTheKeyThatIsMisspeltAndItsPlace) {
  const auto message = problem("budgetingMethod", "budgetingMehod");
  EXPECT_TRUE(message.contains("f.yaml:31:3: unknown key 'budgetingMehod' in spec; did you mean 'budgetingMethod'?")) << message;
}

TEST(OpenSlo, RefusesWhatItDoesNotSupportByName) {
  EXPECT_TRUE(problem("openslo/v1", "openslo/v2alpha").contains("rename it"));
  EXPECT_TRUE(problem("openslo/v1", "openslo/v1alpha").contains("expected openslo/v1"));
  EXPECT_TRUE(problem("kind: SLO", "kind: Service").contains("f.yaml:2:7"));
  EXPECT_TRUE(problem("Occurrences", "Timeslices").contains("budgetingMethod"));
  EXPECT_TRUE(problem("isRolling: true", "isRolling: false").contains("calendar"));
  EXPECT_TRUE(problem("duration: 30d", "duration: 36h").contains("whole days"));
  EXPECT_TRUE(problem("counter: true", "counter: false").contains("only counters"));
  EXPECT_TRUE(problem("  budgetingMethod", "  alertPolicies: []\n  budgetingMethod").contains("alertPolicies is not supported"));
  EXPECT_TRUE(problem("query: failed_total", "query: rate(failed_total[5m])").contains("f.yaml:22:22: query:"));
}

TEST(OpenSlo, RefusesTargetsWithoutBudget) {
  for (const auto* target : {"100", "0", "101", "-1", "99.9999999999", "ninety"}) {
    EXPECT_TRUE(problem("99.995", target).contains("f.yaml:33:22")) << target;
  }
  EXPECT_TRUE(problem("    - targetPercent: 99.995\n", "    - displayName: x\n").contains("exactly one of target"));
}

TEST(OpenSlo, NeedsExactlyOneOfGoodAndBad) { EXPECT_TRUE(problem("        bad:", "        goods:").contains("exactly one of good and bad")); }

}  // namespace
}  // namespace outrigger::slo
