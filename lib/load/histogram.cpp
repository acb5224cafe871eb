#include "lib/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace outrigger::load {
namespace {

constexpr int kBits = Histogram::kSubBucketBits;

std::size_t index_of(std::uint64_t value) {
  const int exponent = std::max(0, std::bit_width(value) - (kBits + 1));
  return (static_cast<std::size_t>(exponent) << kBits) + (value >> exponent);
}

std::chrono::nanoseconds upper_of(std::size_t index) {
  const auto exponent = index < (2U << kBits) ? 0U : static_cast<unsigned>(index >> kBits) - 1;
  const auto lower = (index - (static_cast<std::size_t>(exponent) << kBits)) << exponent;
  return std::chrono::nanoseconds{static_cast<std::int64_t>(lower + (std::size_t{1} << exponent) - 1)};
}

}  // namespace

void Histogram::add(std::chrono::nanoseconds value) {
  value = std::clamp(value, std::chrono::nanoseconds{0}, kLargest);
  const auto index = index_of(static_cast<std::uint64_t>(value.count()));
  if (index >= counts_.size()) {
    counts_.resize(index + 1);
  }
  ++counts_[index];
  ++count_;
  sum_ += static_cast<double>(value.count());
  minimum_ = std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
}

void Histogram::merge(const Histogram& other) {
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  minimum_ = std::min(minimum_, other.minimum_);
  maximum_ = std::max(maximum_, other.maximum_);
}

std::chrono::nanoseconds Histogram::mean() const {
  return std::chrono::nanoseconds{count_ == 0 ? 0 : std::llround(sum_ / static_cast<double>(count_))};
}

std::chrono::nanoseconds Histogram::standard_deviation() const {
  if (count_ == 0) {
    return std::chrono::nanoseconds{0};
  }
  const double middle = sum_ / static_cast<double>(count_);
  double squares = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const double away = static_cast<double>(upper_of(i).count()) - middle;
    squares += static_cast<double>(counts_[i]) * away * away;
  }
  return std::chrono::nanoseconds{std::llround(std::sqrt(squares / static_cast<double>(count_)))};
}

std::chrono::nanoseconds Histogram::quantile(double q) const {
  if (count_ == 0) {
    return std::chrono::nanoseconds{0};
  }
  // 0.99 · 100 is a little more than 99 in binary; the rank must not be pushed up by that.
  const double exact = q * static_cast<double>(count_);
  const auto rank = static_cast<std::uint64_t>(std::clamp(std::ceil(exact - 1e-9 * exact), 1.0, static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) {
      return std::min(upper_of(i), maximum_);
    }
  }
  return maximum_;
}

std::uint64_t Histogram::count_at_or_below(std::chrono::nanoseconds limit) const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size() && std::min(upper_of(i), maximum_) <= limit; ++i) {
    below += counts_[i];
  }
  return below;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> filled;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) {
      filled.push_back({std::min(upper_of(i), maximum_), counts_[i]});
    }
  }
  return filled;
}

}  // namespace outrigger::load
