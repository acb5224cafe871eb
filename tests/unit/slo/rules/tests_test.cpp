#include "slo/rules/tests.h"

#include <gtest/gtest.h>

#include <format>

namespace outrigger::slo {
namespace {

Slo sample(std::string_view target, std::string_view bad, std::string_view total) {
  Slo slo;
  slo.name = "orders";
  slo.display_name = "Orders succeed";
  slo.service = "shop";
  slo.component = "shop";
  slo.target = Decimal::parse(target).value();
  slo.bad = parse_selector(bad).value();
  slo.total = parse_selector(total).value();
  return slo;
}

/// What the case called `name` expects of a burn rate, in the order of its checks: '1' firing, '0' not.
std::string verdicts(const std::string& text, std::string_view name, std::string_view burn_rate) {
  const auto begin = text.find(std::format("- name: \"{}\"", name));
  EXPECT_NE(begin, std::string::npos) << name;
  const auto part = text.substr(begin, text.find("\n  - name:", begin) - begin);
  std::string found;
  const auto key = std::format("burn_rate=\\\"{}\\\"", burn_rate);
  for (auto at = part.find(key); at != std::string::npos; at = part.find(key, at + 1)) {
    const auto samples = part.find("exp_samples:", at);
    found += part.compare(samples, 15, "exp_samples: []") == 0 ? '0' : '1';
  }
  return found;
}

TEST(GenerateTests, AnOutageFiresAndResolvesEveryBurnRate) {
  for (const auto* target : {"0.99995", "0.9979", "0.99", "0.95"}) {
    const auto text = generate_tests(sample(target, "failed_total", "all_total"), "r.yaml", "x").value();
    for (const auto* factor : {"14.4", "6", "3", "1"}) {
      const auto said = verdicts(text, "a total outage fires, and resolves after it", factor);
      EXPECT_TRUE(said.starts_with("0")) << target << " " << factor << " " << said;
      EXPECT_TRUE(said.contains("1")) << target << " " << factor << " " << said;
      EXPECT_TRUE(said.ends_with("0")) << target << " " << factor << " " << said;
    }
  }
}

TEST(GenerateTests, AFactorSeparatesBelowFromAbove) {
  const auto text = generate_tests(sample("0.99995", "failed_total", "all_total"), "r.yaml", "x").value();
  for (const auto* factor : {"14.4", "6", "3", "1"}) {
    EXPECT_EQ(verdicts(text, std::format("just below a burn rate of {}", factor), factor), "0");
    EXPECT_EQ(verdicts(text, std::format("just above a burn rate of {}", factor), factor), "1");
  }
}

TEST(GenerateTests, APartOfTheTotalsMetricBecomesTwoSeriesThatAddUp) {
  const auto text = generate_tests(sample("0.999", R"(req_total{job="a",code=~"5.."})", R"(req_total{job="a"})"), "r.yaml", "x").value();
  EXPECT_TRUE(text.contains(R"(series: "req_total{code=\"500\",job=\"a\"}")")) << text.substr(0, 600);
  EXPECT_TRUE(text.contains(R"(series: "req_total{job=\"a\"}")")) << text.substr(0, 600);
}

TEST(GenerateTests, NamesTheRuleFileAndItsOrigin) {
  const auto text = generate_tests(sample("0.999", "failed_total", "all_total"), "../r.yaml", "from here").value();
  EXPECT_TRUE(text.starts_with("# from here\nrule_files:\n  - \"../r.yaml\"\n"));
}

}  // namespace
}  // namespace outrigger::slo
