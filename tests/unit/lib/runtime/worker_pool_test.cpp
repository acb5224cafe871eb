#include "lib/runtime/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace outrigger {
namespace {

using namespace std::chrono_literals;

TEST(WorkerPool, RunsWhatIsQueuedBeforeItEnds) {
  std::atomic<int> ran = 0;
  {
    WorkerPool pool({.threads = 2, .queue_capacity = 100});
    for (int i = 0; i < 100; ++i) {
      while (!pool.submit([&] { ++ran; })) {
      }
    }
  }
  EXPECT_EQ(ran, 100);
}

TEST(WorkerPool, AFullQueueIsAnAnswerAndTheTaskStaysTheCallers) {
  std::latch started(1);
  std::latch release(1);
  WorkerPool pool({.threads = 1, .queue_capacity = 1});
  ASSERT_TRUE(pool.submit([&] {
    started.count_down();
    release.wait();
  }));
  started.wait();
  ASSERT_TRUE(pool.submit([] {}));
  bool ran = false;
  WorkerPool::Task task = [&ran] { ran = true; };
  const auto refused = pool.submit(std::move(task));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  task();
  EXPECT_TRUE(ran);
  release.count_down();
}

TEST(WorkerPool, DrainTakesNoMoreAndCountsWhatIsLeft) {
  std::latch started(1);
  std::latch release(1);
  WorkerPool pool({.threads = 1, .queue_capacity = 10});
  ASSERT_TRUE(pool.submit([&] {
    started.count_down();
    release.wait();
  }));
  started.wait();
  EXPECT_EQ(pool.drain(std::chrono::steady_clock::now()), 1U);
  EXPECT_EQ(pool.submit([] {}).error().code, ErrorCode::kUnavailable);
  release.count_down();
  EXPECT_EQ(pool.drain(std::chrono::steady_clock::now() + 10s), 0U);
}

}  // namespace
}  // namespace outrigger
