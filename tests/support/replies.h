#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

#include "service/saga/transport.h"

namespace outrigger::saga {

/// In the engine's place: keeps what participants answer. The first `refuse_first` find no room.
class Replies final : public ReplySink {
 public:
  explicit Replies(int refuse_first = 0) : refuse_(refuse_first) {}

  Result<void> deliver(participant::Reply reply) override {
    const std::scoped_lock lock(mutex_);
    if (refuse_ > 0) {
      --refuse_;
      return fail(ErrorCode::kResourceExhausted, "full");
    }
    replies_.push_back(std::move(reply));
    arrived_.notify_all();
    return {};
  }

  /// All that there are once `count` have come; fewer after ten seconds, and the test fails.
  std::vector<participant::Reply> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(arrived_.wait_for(lock, std::chrono::seconds(10), [&] { return replies_.size() >= count; }));
    return replies_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  int refuse_;
  std::vector<participant::Reply> replies_;
};

}  // namespace outrigger::saga
