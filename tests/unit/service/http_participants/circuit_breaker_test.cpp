#include "service/http_participants/circuit_breaker.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace outrigger::http_participants {
namespace {

using namespace std::chrono_literals;
using State = CircuitBreaker::State;

constexpr CircuitBreaker::Settings kSettings{.failures_to_open = 3, .open_for = 100ms, .max_open_for = 400ms};

class CircuitBreakerTest : public testing::Test {
 protected:
  void fail_once() { breaker_.failed(breaker_.admit(now_).value(), now_); }
  void open() {
    for (std::uint32_t i = 0; i < kSettings.failures_to_open; ++i) {
      fail_once();
    }
    ASSERT_EQ(breaker_.state(), State::kOpen);
  }

  CircuitBreaker breaker_{kSettings};
  MonotonicTime now_ = MonotonicTime(1h);
};

TEST_F(CircuitBreakerTest, OpensAfterFailuresInARow) {
  fail_once();
  fail_once();
  breaker_.succeeded(breaker_.admit(now_).value());
  fail_once();
  fail_once();
  EXPECT_EQ(breaker_.state(), State::kClosed);
  fail_once();
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_FALSE(breaker_.admit(now_ + 99ms));
  EXPECT_EQ(breaker_.retry_at(), now_ + 100ms);
}

TEST_F(CircuitBreakerTest, AProbeThatSucceedsClosesIt) {
  open();
  now_ += 100ms;
  const auto probe = breaker_.admit(now_);
  ASSERT_TRUE(probe);
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  EXPECT_FALSE(breaker_.admit(now_)) << "one probe at a time";
  breaker_.succeeded(*probe);
  EXPECT_EQ(breaker_.state(), State::kClosed);
  fail_once();
  EXPECT_EQ(breaker_.state(), State::kClosed) << "it counts from the beginning";
}

TEST_F(CircuitBreakerTest, ProbesThatFailKeepItOpenForTwiceAsLongUpToTheMost) {
  open();
  for (const auto pause : {200ms, 400ms, 400ms}) {
    now_ = breaker_.retry_at();
    fail_once();
    EXPECT_EQ(breaker_.state(), State::kOpen);
    EXPECT_EQ(breaker_.retry_at() - now_, pause);
  }
  now_ = breaker_.retry_at();
  breaker_.succeeded(breaker_.admit(now_).value());
  open();
  EXPECT_EQ(breaker_.retry_at() - now_, 100ms) << "after it was closed it starts small";
}

TEST_F(CircuitBreakerTest, AProbeThatHangsDoesNotKeepItShut) {
  open();
  now_ += 100ms;
  ASSERT_TRUE(breaker_.admit(now_));
  EXPECT_FALSE(breaker_.admit(now_ + 99ms));
  const auto second = breaker_.admit(now_ + 100ms);
  ASSERT_TRUE(second);
  breaker_.succeeded(*second);
  EXPECT_EQ(breaker_.state(), State::kClosed);
}

TEST_F(CircuitBreakerTest, WhatWasSentBeforeItOpenedSaysNothing) {
  const auto early = breaker_.admit(now_).value();
  open();
  breaker_.succeeded(early);
  EXPECT_EQ(breaker_.state(), State::kOpen);
  now_ += 100ms;
  const auto probe = breaker_.admit(now_).value();
  breaker_.failed(early, now_);
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  breaker_.succeeded(early);
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  breaker_.succeeded(probe);
  EXPECT_EQ(breaker_.state(), State::kClosed);
}

// Whatever the order of requests, results and time, its promises hold.
TEST(CircuitBreakerProperties, HoldForEveryHistory) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 dice(seed);
    const auto roll = [&](std::uint32_t sides) { return dice() % sides; };
    CircuitBreaker breaker(kSettings);
    MonotonicTime now(1h);
    std::vector<CircuitBreaker::Permit> out;
    std::optional<MonotonicTime> opened_at;
    std::optional<MonotonicTime> probed_at;
    std::uint32_t failures_at_once = 0;  // since the last success of a current permit, while closed
    for (int step = 0; step < 400; ++step) {
      const auto before = breaker.state();
      if (const auto action = roll(4); action == 0) {
        now += std::chrono::milliseconds(roll(150));
        ASSERT_EQ(breaker.state(), before) << "time alone changes nothing";
      } else if (action == 1 || out.empty()) {
        const auto permit = breaker.admit(now);
        if (before == State::kClosed) {
          ASSERT_TRUE(permit);
        } else if (permit) {
          ASSERT_EQ(breaker.state(), State::kHalfOpen);
          ASSERT_GE(now, *opened_at + kSettings.open_for);
          ASSERT_TRUE(!probed_at || now >= *probed_at + kSettings.open_for) << "probes keep apart";
          probed_at = now;
        } else {
          ASSERT_LT(now, breaker.retry_at());
          ASSERT_LE(breaker.retry_at() - now, kSettings.max_open_for) << "there is always a next probe";
        }
        if (permit) {
          out.push_back(*permit);
        }
      } else {
        std::swap(out[roll(static_cast<std::uint32_t>(out.size()))], out.back());
        const auto permit = out.back();
        out.pop_back();
        if (action == 2) {
          breaker.succeeded(permit);
          ASSERT_TRUE(breaker.state() == before || (before == State::kHalfOpen && breaker.state() == State::kClosed));
          failures_at_once = breaker.state() == before ? failures_at_once : 0;
        } else {
          breaker.failed(permit, now);
          ASSERT_TRUE(breaker.state() == before || breaker.state() == State::kOpen);
          failures_at_once += before == State::kClosed ? 1 : 0;
          if (before == State::kClosed && breaker.state() == State::kOpen) {
            ASSERT_GE(failures_at_once, kSettings.failures_to_open);
          }
        }
      }
      if (breaker.state() == State::kOpen && before != State::kOpen) {
        opened_at = now;
        probed_at.reset();
        failures_at_once = 0;
      }
    }
    now = std::max(now, breaker.retry_at());
    const auto last = breaker.admit(now);
    ASSERT_TRUE(last);
    breaker.succeeded(*last);
    ASSERT_EQ(breaker.state(), State::kClosed) << "a server that is well again is always found";
  }
}

}  // namespace
}  // namespace outrigger::http_participants
