#include "slo/rules/generate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace outrigger::slo {
namespace {

Slo sample(std::string_view target = "0.99995") {
  Slo slo;
  slo.name = "orders";
  slo.display_name = "Orders succeed";
  slo.service = "shop";
  slo.component = "saga";
  slo.target = Decimal::parse(target).value();
  slo.bad = parse_selector("failed_total").value();
  slo.total = parse_selector("all_total").value();
  return slo;
}

const Rule* find(const Generated& generated, std::string_view name, std::string_view burn_rate = {}) {
  for (const auto& group : generated.groups) {
    for (const auto& rule : group.rules) {
      if ((rule.record == name || rule.alert == name) &&
          (burn_rate.empty() || std::ranges::find(rule.labels, std::pair<std::string, std::string>("burn_rate", burn_rate)) != rule.labels.end())) {
        return &rule;
      }
    }
  }
  return nullptr;
}

TEST(GenerateRules, RatiosAreWeightedByEventsAndGuardedAgainstNoTraffic) {
  const auto generated = generate_rules(sample());
  EXPECT_EQ(find(generated, "slo:events_total:increase5m")->expr, "sum(increase(all_total[5m]))");
  EXPECT_EQ(find(generated, "slo:events_bad:increase5m")->expr, "sum(increase(failed_total[5m])) or 0 * sum(increase(all_total[5m]))");
  EXPECT_EQ(find(generated, "slo:error_ratio:increase1h")->expr,
            "slo:events_bad:increase1h{service=\"shop\",slo=\"orders\"} / (slo:events_total:increase1h{service=\"shop\",slo=\"orders\"} > 0)");
}

TEST(GenerateRules, ThresholdsAreExactDecimals) {
  const auto generated = generate_rules(sample());
  for (const auto& [factor, limit] : {std::pair{"14.4", "0.00072"}, std::pair{"6", "0.0003"}, std::pair{"3", "0.00015"}, std::pair{"1", "0.00005"}}) {
    const auto* rule = find(generated, "SLOErrorBudgetBurn", factor);
    ASSERT_NE(rule, nullptr) << factor;
    EXPECT_TRUE(rule->expr.contains(std::string(">= ") + limit + "\n")) << rule->expr;
    EXPECT_TRUE(rule->expr.contains(">= 10")) << rule->expr;
  }
}

TEST(GenerateRules, GoodEventsAreSubtractedFromTheTotal) {
  auto slo = sample();
  slo.good = slo.bad;
  slo.bad.reset();
  const auto expr = find(generate_rules(slo), "slo:events_bad:increase5m")->expr;
  EXPECT_EQ(expr, "clamp_min(sum(increase(all_total[5m])) - (sum(increase(failed_total[5m])) or 0 * sum(increase(all_total[5m]))), 0)");
}

TEST(GenerateRules, ABurnRateThatCanNeverBeReachedIsLeftOutAndTold) {
  const auto generated = generate_rules(sample("0.9"));
  EXPECT_EQ(find(generated, "SLOErrorBudgetBurn", "14.4"), nullptr);
  EXPECT_NE(find(generated, "SLOErrorBudgetBurn", "6"), nullptr);
  ASSERT_EQ(generated.warnings.size(), 1U);
  EXPECT_TRUE(generated.warnings[0].contains("14.4"));
}

TEST(GenerateRules, EveryAlertSaysHowUrgentWhoseAndWhatToRead) {
  auto slo = sample();
  slo.dashboard_url = "https://grafana.example/d/x";
  for (const auto& group : generate_rules(slo, "https://wiki.example/").groups) {
    for (const auto& rule : group.rules) {
      if (rule.alert.empty()) {
        continue;
      }
      for (const auto* label : {"severity", "service", "component", "slo"}) {
        EXPECT_TRUE(std::ranges::contains(rule.labels, label, &std::pair<std::string, std::string>::first)) << rule.alert << " " << label;
      }
      for (const auto* annotation : {"summary", "description", "runbook_url", "dashboard_url"}) {
        EXPECT_TRUE(std::ranges::contains(rule.annotations, annotation, &std::pair<std::string, std::string>::first))
            << rule.alert << " " << annotation;
      }
      EXPECT_EQ(rule.annotations[2].second, "https://wiki.example/" + rule.alert + ".md");
    }
  }
}

TEST(GenerateRules, APeriodThatIsAlsoAWindowIsRecordedOnce) {
  auto slo = sample();
  slo.period = std::chrono::days{3};
  int seen = 0;
  for (const auto& group : generate_rules(slo).groups) {
    seen += static_cast<int>(std::ranges::count(group.rules, "slo:error_ratio:increase3d", &Rule::record));
  }
  EXPECT_EQ(seen, 1);
}

TEST(RuleFile, QuotesWhatYamlWouldMisread) {
  const auto text = to_yaml(
      {{"g", "30s", {{.record = "a:b", .alert = {}, .expr = "x\nand y", .hold = {}, .labels = {{"l", "\"\\"}}, .annotations = {}}}}}, "one\ntwo");
  EXPECT_EQ(
      text,
      "# one\n# two\ngroups:\n  - name: \"g\"\n    interval: 30s\n    rules:\n      - record: a:b\n        expr: |-\n          x\n          and y\n"
      "        labels:\n          l: \"\\\"\\\\\"\n");
}

}  // namespace
}  // namespace outrigger::slo
