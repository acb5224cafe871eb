#include "slo/spec/selector.h"

#include <gtest/gtest.h>

namespace outrigger::slo {
namespace {

Selector selector(std::string_view text) { return parse_selector(text).value(); }

TEST(Selector, ReadsAndWrites) {
  for (const auto* text : {"up", "a:b_total", R"(m{a="x"})", R"(m{a="x",b!="y",c=~"5..",d!~"z|w"})", R"(m{a="q\"uo\\te"})"}) {
    EXPECT_EQ(selector(text).to_string(), text);
  }
  EXPECT_EQ(selector(R"( m { a = "x" , } )").to_string(), R"(m{a="x"})");
  EXPECT_EQ(selector("m{}").to_string(), "m");
}

TEST(Selector, RefusesEverythingRoundASelector) {
  for (const auto* text : {"", "rate(m[5m])", "m[5m]", "m offset 1h", "sum(m)", "m{a=x}", "m{a=\"x\"", "m{a \"x\"}", "m{=\"x\"}", "m{a=~\"(\"}",
                           "m{a=\"x\" b=\"y\"}", "9m", "a + b"}) {
    const auto parsed = parse_selector(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(parsed.error().message.contains("bare counter selector"));
  }
}

TEST(Selector, MatchesLikePrometheus) {
  const auto s = selector(R"(m{code=~"5..",route!="/x"})");
  EXPECT_TRUE(s.matches({{"code", "503"}}));
  EXPECT_FALSE(s.matches({{"code", "5034"}}));  // expressions are anchored
  EXPECT_FALSE(s.matches({{"code", "503"}, {"route", "/x"}}));
  EXPECT_FALSE(s.matches({}));
  EXPECT_TRUE(selector(R"(m{a=""})").matches({}));
}

TEST(ExampleLabels, FitTheWantedSelectorAndNotTheOther) {
  const auto total = selector(R"(m{listener="main",route=~"/v1/orders(/.*)?"})");
  const auto bad = selector(R"(m{listener="main",route=~"/v1/orders(/.*)?",code=~"5.."})");
  const auto of_bad = example_labels(bad, nullptr).value();
  EXPECT_TRUE(bad.matches(of_bad));
  EXPECT_EQ(of_bad.at("code"), "500");
  EXPECT_EQ(of_bad.at("route"), "/v1/orders");
  const auto of_rest = example_labels(total, &bad).value();
  EXPECT_TRUE(total.matches(of_rest));
  EXPECT_FALSE(bad.matches(of_rest));
}

TEST(ExampleLabels, SolveCommonExpressions) {
  for (const auto* text : {R"(m{a=~"GET|POST"})", R"(m{a=~".+"})", R"(m{a=~".*"})", R"(m{a=~"[45].."})", R"(m{a=~"x[0-9]+"})", "m{a=~\"(a|b)\"}",
                           R"(m{a!="x"})", R"(m{a!~"5.."})"}) {
    const auto s = selector(text);
    const auto labels = example_labels(s, nullptr);
    ASSERT_TRUE(labels) << text << ": " << labels.error().message;
    EXPECT_TRUE(s.matches(*labels));
  }
}

TEST(ExampleLabels, SayWhenThereAreNone) {
  const auto s = selector(R"(m{a="1"})");
  EXPECT_FALSE(example_labels(s, &s));
  EXPECT_FALSE(example_labels(selector(R"(m{a="1",a="2"})"), nullptr));
}

}  // namespace
}  // namespace outrigger::slo
