#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace outrigger::load {

/// Counts of durations in log-linear buckets: 128 equal buckets in every power of two of nanoseconds.
///
/// A quantile is the upper end of the bucket that holds the sample of rank ceil(q·n): never below that sample, and above it
/// by less than 1/128 (0.8 %). Durations under 256 ns are exact; those over kLargest (1 h 13 min) count as kLargest.
/// Minimum, maximum and mean are exact. Not thread-safe. Memory: 8 bytes a bucket up to the largest used, at most 37 KiB.
class Histogram final {
 public:
  static constexpr int kSubBucketBits = 7;
  static constexpr std::chrono::nanoseconds kLargest{(std::int64_t{1} << 42) - 1};

  void add(std::chrono::nanoseconds value);  ///< a negative value counts as 0
  void merge(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::chrono::nanoseconds minimum() const { return count_ == 0 ? std::chrono::nanoseconds{0} : minimum_; }
  [[nodiscard]] std::chrono::nanoseconds maximum() const { return maximum_; }
  [[nodiscard]] std::chrono::nanoseconds mean() const;
  [[nodiscard]] std::chrono::nanoseconds standard_deviation() const;  ///< from the buckets' ends

  /// 0 <= q <= 1. Zero when empty. Never above maximum().
  [[nodiscard]] std::chrono::nanoseconds quantile(double q) const;

  /// How many samples are certainly <= `limit`: those in buckets that end at or below it.
  [[nodiscard]] std::uint64_t count_at_or_below(std::chrono::nanoseconds limit) const;

  struct Bucket {
    std::chrono::nanoseconds upper;  ///< inclusive
    std::uint64_t count;
  };
  [[nodiscard]] std::vector<Bucket> buckets() const;  ///< those that hold something, ascending

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;  ///< nanoseconds
  std::chrono::nanoseconds minimum_ = kLargest;
  std::chrono::nanoseconds maximum_{0};
};

}  // namespace outrigger::load
