#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

namespace outrigger::telemetry {

/// Label names and values of one series, in the order they are declared.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// What a metric is: declared once, as a constant in the `metrics.h` of the module that owns it.
/// Names follow Prometheus: base units, `_total` for counters, `_seconds`, `_bytes`, `_ratio`.
struct MetricInfo {
  std::string_view name;
  std::string_view help;
};

namespace internal {
inline constexpr std::size_t kCells = 8;
/// Which cell the calling thread writes: spreads hot counters over cache lines.
[[nodiscard]] std::size_t cell_index();
struct alignas(64) Cell {
  std::atomic<std::uint64_t> value{0};
};
}  // namespace internal

/// A count that only grows. Thread-safe, wait-free: one relaxed add to a cell of the calling thread.
class Counter final {
 public:
  void add(std::uint64_t amount = 1) { cells_[internal::cell_index()].value.fetch_add(amount, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const;

 private:
  std::array<internal::Cell, internal::kCells> cells_;
};

/// A value that goes up and down. Thread-safe.
class Gauge final {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  [[nodiscard]] double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// A distribution over fixed buckets (upper bounds, inclusive). Thread-safe.
class Histogram final {
 public:
  explicit Histogram(std::span<const double> upper_bounds);
  void observe(double value);
  template <class Rep, class Period>
  void observe(std::chrono::duration<Rep, Period> value) {
    observe(std::chrono::duration<double>(value).count());
  }

  struct Snapshot {
    std::vector<double> upper_bounds;              ///< without +Inf
    std::vector<std::uint64_t> cumulative_counts;  ///< one more than the bounds: the last is +Inf
    double sum = 0;
  };
  [[nodiscard]] Snapshot snapshot() const;

 private:
  std::vector<double> upper_bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

/// Bounds for latencies in seconds: every SLO threshold (0.12 among them) is a bucket edge.
inline constexpr std::array kLatencySeconds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0};

/// The metrics of one process. Thread-safe. References stay valid for the registry's life.
///
/// Asking again for the same name and labels returns the same metric. A name with two kinds or two helps is a
/// programming error and ends the process. A family holds at most `kMaxSeries` series; what comes beyond that shares one
/// series whose label values are all "overflow", and is counted in `outrigger_metrics_overflow_total`.
class Registry final : public prometheus::Collectable {
 public:
  static constexpr std::size_t kMaxSeries = 512;

  Registry();
  ~Registry() override;

  Counter& counter(const MetricInfo& info, const Labels& labels = {});
  Gauge& gauge(const MetricInfo& info, const Labels& labels = {});
  Histogram& histogram(const MetricInfo& info, std::span<const double> upper_bounds = kLatencySeconds, const Labels& labels = {});

  /// A gauge or counter whose value is read when scraped. `read` must be thread-safe and outlive the registry's last scrape.
  void gauge_function(const MetricInfo& info, std::function<double()> read, const Labels& labels = {});
  void counter_function(const MetricInfo& info, std::function<double()> read, const Labels& labels = {});

  /// A gauge whose series come and go: all of them are read when scraped. At most `kMaxSeries` are shown.
  void gauge_family_function(const MetricInfo& info, std::function<std::vector<std::pair<Labels, double>>()> read);

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Series;
  struct Family;
  Family& family(const MetricInfo& info, prometheus::MetricType type);
  Series& series(const MetricInfo& info, prometheus::MetricType type, const Labels& labels);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>, std::less<>> families_;
  Counter overflow_;
};

}  // namespace outrigger::telemetry
