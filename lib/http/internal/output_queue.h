#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace outrigger::http::internal {

/// Bytes on their way to one socket, gathered into one write. Small bodies are copied behind their heads, big ones moved.
class OutputQueue final {
 public:
  /// Where the next head is appended.
  std::string& tail() {
    if (segments_.empty() || !tail_is_open_) {
      segments_.emplace_back();
      tail_is_open_ = true;
    }
    return segments_.back();
  }

  void append_body(std::string&& body) {
    if (body.size() < kCopyBelowBytes) {
      tail() += body;
    } else {
      segments_.push_back(std::move(body));
      tail_is_open_ = false;
    }
  }

  [[nodiscard]] bool empty() const { return bytes() == 0; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (std::size_t i = first_; i < segments_.size(); ++i) {
      sum += segments_[i].size();
    }
    return sum - sent_of_first_;
  }

  /// Fills `vectors` with what comes next; returns how many it used.
  std::size_t gather(std::span<iovec> vectors) {
    std::size_t used = 0;
    for (std::size_t i = first_; i < segments_.size() && used < vectors.size(); ++i) {
      const std::size_t skip = i == first_ ? sent_of_first_ : 0;
      vectors[used++] = {segments_[i].data() + skip, segments_[i].size() - skip};
    }
    return used;
  }

  void consume(std::size_t bytes) {
    while (first_ < segments_.size() && bytes >= segments_[first_].size() - sent_of_first_) {
      bytes -= segments_[first_].size() - sent_of_first_;
      sent_of_first_ = 0;
      ++first_;
    }
    sent_of_first_ += bytes;
    if (first_ == segments_.size()) {
      clear();
    }
  }

  /// Empties it and keeps one buffer of ordinary size for the next answer.
  void clear() {
    if (segments_.size() > 1) {
      segments_.resize(1);
    }
    if (!segments_.empty()) {
      if (segments_.front().capacity() > kKeepCapacityBytes) {
        segments_.front() = {};
      }
      segments_.front().clear();
    }
    first_ = sent_of_first_ = 0;
    tail_is_open_ = !segments_.empty();
  }

 private:
  static constexpr std::size_t kCopyBelowBytes = 8U << 10U;
  static constexpr std::size_t kKeepCapacityBytes = 32U << 10U;

  std::vector<std::string> segments_;
  std::size_t first_ = 0;
  std::size_t sent_of_first_ = 0;
  bool tail_is_open_ = false;
};

}  // namespace outrigger::http::internal
