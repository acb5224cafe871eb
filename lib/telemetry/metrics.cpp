#include "lib/telemetry/metrics.h"

#include <algorithm>
#include <limits>

#include "lib/runtime/error.h"

namespace outrigger::telemetry {

std::size_t internal::cell_index() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t index = next.fetch_add(1, std::memory_order_relaxed) % kCells;
  return index;
}

std::uint64_t Counter::value() const {
  std::uint64_t sum = 0;
  for (const auto& cell : cells_) {
    sum += cell.value.load(std::memory_order_relaxed);
  }
  return sum;
}

Histogram::Histogram(std::span<const double> upper_bounds)
    : upper_bounds_(upper_bounds.begin(), upper_bounds.end()), counts_(upper_bounds.size() + 1) {}

void Histogram::observe(double value) {
  const auto bucket = std::ranges::lower_bound(upper_bounds_, value) - upper_bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Histogram::Snapshot Histogram::snapshot() const {
  Snapshot result{.upper_bounds = upper_bounds_, .cumulative_counts = {}, .sum = sum_.load(std::memory_order_relaxed)};
  std::uint64_t running = 0;
  for (const auto& count : counts_) {
    running += count.load(std::memory_order_relaxed);
    result.cumulative_counts.push_back(running);
  }
  return result;
}

struct Registry::Series {
  Labels labels;
  std::unique_ptr<Counter> counter;
  std::unique_ptr<Gauge> gauge;
  std::unique_ptr<Histogram> histogram;
  std::function<double()> read;
};

struct Registry::Family {
  prometheus::MetricType type;
  std::string help;
  std::map<Labels, std::unique_ptr<Series>> series;
  std::function<std::vector<std::pair<Labels, double>>()> read_all;
};

namespace {

constexpr MetricInfo kOverflow{"outrigger_metrics_overflow_total", "Series that were folded into one because their family has too many."};

prometheus::ClientMetric to_client_metric(prometheus::MetricType type, const Labels& labels, const Counter* counter, const Gauge* gauge,
                                          const Histogram* histogram, const std::function<double()>& read) {
  prometheus::ClientMetric metric;
  for (const auto& [label, value] : labels) {
    metric.label.push_back({label, value});
  }
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = read ? read() : static_cast<double>(counter->value());
  } else if (type == prometheus::MetricType::Gauge) {
    metric.gauge.value = read ? read() : gauge->value();
  } else {
    const auto snapshot = histogram->snapshot();
    metric.histogram.sample_count = snapshot.cumulative_counts.back();
    metric.histogram.sample_sum = snapshot.sum;
    for (std::size_t i = 0; i < snapshot.cumulative_counts.size(); ++i) {
      const double bound = i < snapshot.upper_bounds.size() ? snapshot.upper_bounds[i] : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({snapshot.cumulative_counts[i], bound});
    }
  }
  return metric;
}

}  // namespace

Registry::Registry() {
  counter_function(kOverflow, [this] { return static_cast<double>(overflow_.value()); });
}

Registry::~Registry() = default;

Registry::Family& Registry::family(const MetricInfo& info, prometheus::MetricType type) {
  auto& found = families_[std::string(info.name)];
  if (!found) {
    found = std::make_unique<Family>(Family{type, std::string(info.help), {}, {}});
  }
  if (found->type != type || found->help != info.help) {
    impossible("a metric is declared twice with different kinds or helps", info.name);
  }
  return *found;
}

Registry::Series& Registry::series(const MetricInfo& info, prometheus::MetricType type, const Labels& labels) {
  auto& members = family(info, type).series;
  if (const auto found = members.find(labels); found != members.end()) {
    return *found->second;
  }
  Labels key = labels;
  if (members.size() >= kMaxSeries) {
    overflow_.add();
    for (auto& [label, value] : key) {
      value = "overflow";
    }
  }
  auto& slot = members[key];
  if (!slot) {
    slot = std::make_unique<Series>();
    slot->labels = std::move(key);
  }
  return *slot;
}

Counter& Registry::counter(const MetricInfo& info, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  auto& found = series(info, prometheus::MetricType::Counter, labels);
  if (!found.counter) {
    found.counter = std::make_unique<Counter>();
  }
  return *found.counter;
}

Gauge& Registry::gauge(const MetricInfo& info, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  auto& found = series(info, prometheus::MetricType::Gauge, labels);
  if (!found.gauge) {
    found.gauge = std::make_unique<Gauge>();
  }
  return *found.gauge;
}

Histogram& Registry::histogram(const MetricInfo& info, std::span<const double> upper_bounds, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  auto& found = series(info, prometheus::MetricType::Histogram, labels);
  if (!found.histogram) {
    found.histogram = std::make_unique<Histogram>(upper_bounds);
  }
  return *found.histogram;
}

void Registry::gauge_function(const MetricInfo& info, std::function<double()> read, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  series(info, prometheus::MetricType::Gauge, labels).read = std::move(read);
}

void Registry::counter_function(const MetricInfo& info, std::function<double()> read, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  series(info, prometheus::MetricType::Counter, labels).read = std::move(read);
}

void Registry::gauge_family_function(const MetricInfo& info, std::function<std::vector<std::pair<Labels, double>>()> read) {
  const std::lock_guard lock(mutex_);
  family(info, prometheus::MetricType::Gauge).read_all = std::move(read);
}

std::vector<prometheus::MetricFamily> Registry::Collect() const {
  const std::lock_guard lock(mutex_);
  std::vector<prometheus::MetricFamily> result;
  for (const auto& [family_name, members] : families_) {
    prometheus::MetricFamily out{family_name, members->help, members->type, {}};
    for (const auto& [key, item] : members->series) {
      out.metric.push_back(to_client_metric(members->type, item->labels, item->counter.get(), item->gauge.get(), item->histogram.get(), item->read));
    }
    if (members->read_all) {
      for (const auto& [labels, value] : members->read_all()) {
        if (out.metric.size() < kMaxSeries) {
          out.metric.push_back(to_client_metric(members->type, labels, nullptr, nullptr, nullptr, [shown = value] { return shown; }));
        }
      }
    }
    result.push_back(std::move(out));
  }
  return result;
}

}  // namespace outrigger::telemetry
