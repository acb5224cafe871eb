#include "sidecar/fault/fault.h"

#include <string>

#include <gtest/gtest.h>

#include "sidecar/fault/internal/siphash.h"

namespace outrigger::fault {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Specification good() {
  return {.id = "slow-orders",
          .reason = "drill",
          .ttl = seconds{30},
          .match = {.method = http::Method::kPost, .path_prefix = "/v1/orders", .headers = {{"x-canary", "1"}}},
          .trigger = {},
          .action = Delay{.fixed = milliseconds{300}, .jitter = milliseconds{0}}};
}

/// The field that validation names, or "" when it finds nothing wrong.
std::string wrong_field(const Specification& specification) {
  const auto valid = validate(specification, Bounds{});
  return valid ? "" : valid.error().context;
}

TEST(SipHash, AgreesWithThePublishedVectors) {
  // Appendix A of the SipHash paper: key 00..0f, message 00..0e; and the first two of its authors' test vectors.
  constexpr std::uint64_t kKey0 = 0x0706050403020100U, kKey1 = 0x0f0e0d0c0b0a0908U;
  std::string message;
  EXPECT_EQ(internal::siphash_2_4(kKey0, kKey1, message), 0x726fdb47dd0e0e31U);
  message.push_back('\0');
  EXPECT_EQ(internal::siphash_2_4(kKey0, kKey1, message), 0x74f839c593dc67fdU);
  for (char c = 1; c < 15; ++c) {
    message.push_back(c);
  }
  EXPECT_EQ(internal::siphash_2_4(kKey0, kKey1, message), 0xa129ca6149be45e5U);
}

TEST(Validate, AcceptsAGoodSpecification) { EXPECT_EQ(wrong_field(good()), ""); }

TEST(Validate, NamesTheFieldThatIsWrong) {
  const auto with = [](auto change) {
    Specification specification = good();
    change(specification);
    return wrong_field(specification);
  };
  EXPECT_EQ(with([](auto& s) { s.id = ""; }), "fault.id");
  EXPECT_EQ(with([](auto& s) { s.id = "Slow"; }), "fault.id");
  EXPECT_EQ(with([](auto& s) { s.id = "-slow"; }), "fault.id");
  EXPECT_EQ(with([](auto& s) { s.id = std::string(64, 'a'); }), "fault.id");
  EXPECT_EQ(with([](auto& s) { s.reason = "two\nlines"; }), "fault.reason");
  EXPECT_EQ(with([](auto& s) { s.ttl = seconds{0}; }), "fault.ttl");
  EXPECT_EQ(with([](auto& s) { s.ttl = seconds{-1}; }), "fault.ttl");
  EXPECT_EQ(with([](auto& s) { s.ttl = minutes{10} + milliseconds{1}; }), "fault.ttl");
  EXPECT_EQ(with([](auto& s) { s.match.path_prefix = "v1"; }), "fault.match.http.path_prefix");
  EXPECT_EQ(with([](auto& s) { s.match.path_prefix = "/v1?x"; }), "fault.match.http.path_prefix");
  EXPECT_EQ(with([](auto& s) { s.match.headers = {{"two words", ""}}; }), "fault.match.http.headers");
  EXPECT_EQ(with([](auto& s) { s.match.headers = {{"x", "a\r\nb"}}; }), "fault.match.http.headers");
  EXPECT_EQ(with([](auto& s) { s.match.headers.assign(9, {"x", ""}); }), "fault.match.http.headers");
  EXPECT_EQ(with([](auto& s) { s.trigger.percent_ppm = 1'000'001; }), "fault.trigger.percent_ppm");
  EXPECT_EQ(with([](auto& s) { s.action = Delay{}; }), "fault.delay");
  EXPECT_EQ(with([](auto& s) { s.action = Delay{.fixed = milliseconds{-1}, .jitter = seconds{1}}; }), "fault.delay");
  EXPECT_EQ(with([](auto& s) { s.action = Delay{.fixed = seconds{60}, .jitter = milliseconds{1}}; }), "fault.delay");
  EXPECT_EQ(with([](auto& s) { s.action = Delay{.fixed = std::chrono::nanoseconds::max(), .jitter = std::chrono::nanoseconds::max()}; }),
            "fault.delay");
  EXPECT_EQ(with([](auto& s) { s.action = Abort{.status = 200}; }), "fault.abort.status");
  EXPECT_EQ(with([](auto& s) { s.action = Abort{.status = 600}; }), "fault.abort.status");
}

TEST(Match, NeedsEverythingThatIsSet) {
  http::Request request;
  request.method = http::Method::kPost;
  request.path = "/v1/orders/7";
  request.headers = {{"X-Canary", "1"}};
  EXPECT_TRUE(matches(good().match, request));
  EXPECT_TRUE(matches(HttpMatch{}, request));

  http::Request other = request;
  other.method = http::Method::kGet;
  EXPECT_FALSE(matches(good().match, other));
  other = request;
  other.headers[0].second = "2";
  EXPECT_FALSE(matches(good().match, other));
  other.headers.clear();
  EXPECT_FALSE(matches(good().match, other));
}

TEST(Match, PathPrefixTakesWholeSegments) {
  const auto matches_path = [](std::string prefix, std::string path) {
    http::Request request;
    request.path = std::move(path);
    return matches(HttpMatch{.method = {}, .path_prefix = std::move(prefix), .headers = {}}, request);
  };
  EXPECT_TRUE(matches_path("/v1/orders", "/v1/orders"));
  EXPECT_TRUE(matches_path("/v1/orders", "/v1/orders/7"));
  EXPECT_FALSE(matches_path("/v1/orders", "/v1/orders-old"));
  EXPECT_FALSE(matches_path("/v1/orders", "/v1"));
  EXPECT_TRUE(matches_path("/v1/orders/", "/v1/orders/7"));
  EXPECT_FALSE(matches_path("/v1/orders/", "/v1/orders"));
  EXPECT_TRUE(matches_path("/", "/anything"));
}

TEST(Trigger, SelectsTheSameKeysForEver) {
  // Recorded once: a change here would break every replay of an earlier run.
  const Trigger trigger{.percent_ppm = 250'000, .seed = 42};
  std::string verdicts;
  for (int key = 0; key < 32; ++key) {
    verdicts += selects(trigger, "slow-orders", std::to_string(key)) ? '1' : '0';
  }
  EXPECT_EQ(verdicts, "00001001101100111010100100001100");
}

TEST(Trigger, SelectsItsShareOfManyKeys) {
  const auto selected = [](std::uint32_t ppm, std::uint64_t seed) {
    int count = 0;
    for (int key = 0; key < 100'000; ++key) {
      count += selects({.percent_ppm = ppm, .seed = seed}, "f", std::to_string(key)) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(selected(0, 1), 0);
  EXPECT_EQ(selected(1'000'000, 1), 100'000);
  // The counts are exact because the hash is; 4 standard deviations of a fair coin with p = 1/4 are 548.
  EXPECT_NEAR(selected(250'000, 1), 25'000, 548);
  EXPECT_NEAR(selected(250'000, 2), 25'000, 548);
}

TEST(Trigger, SeedAndFaultChooseDifferentRequests) {
  int different_seed = 0, different_id = 0;
  for (int key = 0; key < 1000; ++key) {
    const auto text = std::to_string(key);
    const bool verdict = selects({.percent_ppm = 500'000, .seed = 1}, "a", text);
    different_seed += verdict != selects({.percent_ppm = 500'000, .seed = 2}, "a", text) ? 1 : 0;
    different_id += verdict != selects({.percent_ppm = 500'000, .seed = 1}, "b", text) ? 1 : 0;
  }
  EXPECT_NEAR(different_seed, 500, 64);
  EXPECT_NEAR(different_id, 500, 64);
}

TEST(Jitter, SpreadsOverItsRangeAndRepeats) {
  const Delay delay{.fixed = milliseconds{300}, .jitter = milliseconds{100}};
  auto least = std::chrono::nanoseconds::max(), most = std::chrono::nanoseconds::min();
  for (int key = 0; key < 1000; ++key) {
    const auto drawn = draw(delay, {}, "f", std::to_string(key));
    EXPECT_EQ(drawn, draw(delay, {}, "f", std::to_string(key)));
    least = std::min(least, drawn);
    most = std::max(most, drawn);
  }
  EXPECT_GE(least, milliseconds{300});
  EXPECT_LT(least, milliseconds{302});
  EXPECT_GT(most, milliseconds{398});
  EXPECT_LT(most, milliseconds{400});
  EXPECT_EQ(draw({.fixed = milliseconds{5}, .jitter = {}}, {}, "f", "1"), milliseconds{5});
}

}  // namespace
}  // namespace outrigger::fault
