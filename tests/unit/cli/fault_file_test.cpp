#include "cli/fault_file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "outrigger/sidecar/admin/v1/fault.pb.h"

namespace outrigger::cli {
namespace {

constexpr std::string_view kGood = R"(id: slow-orders
reason: drill 7
ttl: 2m
match: {http: {method: POST, pathPrefix: /v1/orders, headers: {x-canary: "1"}}}
trigger: {percent: 25, seed: 42}
action: {delay: {fixed: 300ms, jitter: 50ms}}
)";

std::string problem(std::string_view yaml) {
  const auto faults = read_faults(yaml, "f.yaml");
  return faults ? "" : faults.error().to_string();
}

TEST(FaultFile, ReadsEveryField) {
  const auto faults = read_faults(kGood, "f.yaml");
  ASSERT_TRUE(faults) << faults.error().to_string();
  ASSERT_EQ(faults->size(), 1U);
  const auto& fault = faults->front();
  EXPECT_EQ(fault.id(), "slow-orders");
  EXPECT_EQ(fault.reason(), "drill 7");
  EXPECT_EQ(fault.ttl().seconds(), 120);
  EXPECT_EQ(fault.match().http().method(), "POST");
  EXPECT_EQ(fault.match().http().path_prefix(), "/v1/orders");
  EXPECT_EQ(fault.match().http().headers().at("x-canary"), "1");
  EXPECT_EQ(fault.trigger().percent_ppm(), 250'000U);
  EXPECT_EQ(fault.trigger().seed(), 42U);
  EXPECT_EQ(fault.delay().fixed().nanos(), 300'000'000);
  EXPECT_EQ(fault.delay().jitter().nanos(), 50'000'000);
}

TEST(FaultFile, ReadsAnAbortAndSeveralDocuments) {
  const auto faults = read_faults(std::string(kGood) + "---\nid: broken\nttl: 10s\nmatch: {http: {}}\naction: {abort: {status: 503}}\n", "f.yaml");
  ASSERT_TRUE(faults) << faults.error().to_string();
  ASSERT_EQ(faults->size(), 2U);
  EXPECT_EQ(faults->back().abort().status(), 503U);
  EXPECT_FALSE(faults->back().trigger().has_percent_ppm());
  EXPECT_TRUE(faults->back().match().has_http());
}

TEST(FaultFile, NamesLineColumnAndTheKeyThatWasMeant) {
  EXPECT_EQ(problem("id: a\ntll: 2m\nttl: 1m\nmatch: {http: {}}\naction: {abort: {status: 503}}\n"),
            "f.yaml:2:1: unknown key 'tll'; did you mean 'ttl'?");
  EXPECT_EQ(problem("id: a\nttl: 1m\nmatch: {http: {path_prefix: /v1}}\naction: {abort: {status: 503}}\n"),
            "f.yaml:3:16: unknown key 'path_prefix' in http; did you mean 'pathPrefix'?");
}

TEST(FaultFile, RefusesWhatIsMissingOrDouble) {
  EXPECT_TRUE(problem("id: a\nmatch: {http: {}}\naction: {abort: {status: 503}}\n").contains("'ttl'"));
  EXPECT_TRUE(problem("ttl: 1m\nmatch: {http: {}}\naction: {abort: {status: 503}}\n").contains("'id'"));
  EXPECT_TRUE(problem("id: a\nttl: 1m\naction: {abort: {status: 503}}\n").contains("'match'"));
  EXPECT_TRUE(problem("id: a\nttl: 1m\nmatch: {http: {}}\n").contains("'action'"));
  EXPECT_TRUE(problem("id: a\nttl: 1m\nmatch: {http: {}}\naction: {abort: {status: 503}, delay: {fixed: 1s}}\n").contains("f.yaml:4:"));
  EXPECT_TRUE(problem("id: a\nttl: 1m\nmatch: {http: {}}\naction: {}\n").contains("one of delay and abort"));
  EXPECT_TRUE(problem("id: a\nttl: 1m\nmatch: {http: {}}\naction: {abort: {status: 200}}\n").contains("f.yaml:4:"));
  EXPECT_TRUE(
      problem("id: a\nttl: 1m\nmatch: {http: {}}\ntrigger: {percent: 5, percentPpm: 5}\naction: {abort: {status: 503}}\n").contains("f.yaml:4:"));
  EXPECT_TRUE(problem("id: a\nttl: 60\nmatch: {http: {}}\naction: {abort: {status: 503}}\n").contains("f.yaml:2:6"));
  EXPECT_NE(problem(""), "");
}

TEST(FaultFile, WhatIsListedCanBeAppliedAgain) {
  auto fault = read_faults(kGood, "f.yaml")->front();
  fault.set_hits(3);
  fault.mutable_create_time()->set_seconds(1'800'000'000);
  fault.mutable_expire_time()->set_seconds(1'800'000'120);
  const std::string listed = to_yaml(to_json(fault));
  EXPECT_TRUE(listed.contains("expireTime: \"2027-01-15T08:02:00.000Z\"")) << listed;
  const auto again = read_faults(listed, "listed.yaml");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->front().SerializeAsString(), read_faults(kGood, "f.yaml")->front().SerializeAsString());
}

TEST(Percent, IsExactInPartsPerMillion) {
  EXPECT_EQ(parse_percent("100").value(), 1'000'000U);
  EXPECT_EQ(parse_percent("0").value(), 0U);
  EXPECT_EQ(parse_percent("0.5%").value(), 5'000U);
  EXPECT_EQ(parse_percent("12.3456").value(), 123'456U);
  EXPECT_EQ(parse_percent(".1").value(), 1'000U);
  for (const char* wrong : {"", "%", ".", "100.0001", "101", "1.23456", "-1", "five", "1e2", "1.2.3", "99999999999999999999"}) {
    EXPECT_FALSE(parse_percent(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace outrigger::cli
