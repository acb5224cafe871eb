#include "chaos/runner/evidence.h"

#include <algorithm>
#include <format>

#include "lib/load/report.h"

namespace outrigger::chaos {
namespace {

using std::chrono::nanoseconds;

double quantile_of(Metric metric) { return metric == Metric::kP50 ? 0.5 : 0.99; }

/// A metric that is better when it is low.
bool counts_errors(Metric metric) { return metric == Metric::kErrorRatio; }

double seconds(nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

double ratio(std::uint64_t part, std::uint64_t whole) { return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole); }

/// Samples below the limit, never too few: those of the bucket that the limit lies in count too.
std::uint64_t at_most_below(const load::Histogram& histogram, nanoseconds limit) {
  return histogram.count_at_or_below(limit + limit / ((1 << load::Histogram::kSubBucketBits) - 1) + nanoseconds{1});
}

}  // namespace

double allowed_share(const Assertion& assertion) {
  if (is_latency(assertion.metric)) {
    const double q = quantile_of(assertion.metric);
    return assertion.is_upper ? 1 - q : q;
  }
  // error_ratio <= r: the share r may fail; error_ratio >= r: the share 1 - r may succeed. Availability alike.
  return assertion.is_upper ? assertion.ratio : 1 - assertion.ratio;
}

std::uint64_t needed_samples(const Assertion& assertion) { return std::max(assertion.min_samples, least_samples(allowed_share(assertion))); }

AssertionResult judge(const Assertion& assertion, const load::Window& window, double alpha_fail) {
  AssertionResult result{.id = assertion.id,
                         .primary = assertion.primary,
                         .is_latency = is_latency(assertion.metric),
                         .text = assertion.text(),
                         .n = window.sent,
                         .allowed = allowed_share(assertion),
                         .min_samples = needed_samples(assertion)};
  if (is_latency(assertion.metric)) {
    const auto& latencies = window.from_intended;
    result.n = latencies.count();
    result.measured = seconds(latencies.quantile(quantile_of(assertion.metric)));
    result.bad = assertion.is_upper ? result.n - latencies.count_at_or_below(assertion.limit) : at_most_below(latencies, assertion.limit);
  } else {
    const auto failed = window.failed();
    result.measured = ratio(counts_errors(assertion.metric) ? failed : window.sent - failed, window.sent);
    result.bad = counts_errors(assertion.metric) == assertion.is_upper ? failed : window.sent - failed;
  }
  result.finding = judge_share(result.bad, result.n, result.allowed, alpha_fail);
  if (result.finding == Finding::kPass && result.n < result.min_samples) {
    result.finding = Finding::kInconclusive;
  }
  return result;
}

std::vector<std::string> doubts_of(const Dose& dose) {
  std::vector<std::string> doubts;
  if (dose.is_lost) {
    doubts.push_back(
        std::format("fault {}: it was gone before it was reverted, so how long it acted is not known: was the sidecar restarted?", dose.fault));
  } else if (dose.hits < dose.min_hits) {
    doubts.push_back(std::format("fault {}: {} hits, {} needed: does its match fit the load?", dose.fault, dose.hits, dose.min_hits));
  }
  if (dose.proof.min_shift && dose.shift < *dose.proof.min_shift) {
    doubts.push_back(std::format("fault {}: P50 moved by {}, less than {}: the dose is not seen", dose.fault, load::readable(dose.shift),
                                 load::readable(*dose.proof.min_shift)));
  }
  if (dose.proof.max_shift && dose.shift > *dose.proof.max_shift) {
    doubts.push_back(std::format("fault {}: P50 moved by {}, more than {}: something else acted too", dose.fault, load::readable(dose.shift),
                                 load::readable(*dose.proof.max_shift)));
  }
  return doubts;
}

std::vector<std::string> baseline_doubts(const load::Window& first_half, const load::Window& second_half) {
  const auto least = std::min(first_half.from_intended.count(), second_half.from_intended.count());
  if (least < kLeastOfAHalf) {
    return {std::format("baseline: a half has {} samples, {} needed: lengthen it or raise the rate", least, kLeastOfAHalf)};
  }
  const auto [low, high] = std::minmax({first_half.from_intended.quantile(0.5), second_half.from_intended.quantile(0.5)});
  const auto drift = nanoseconds{static_cast<nanoseconds::rep>(static_cast<double>(low.count()) * kMostDrift)};
  if (high - low > std::max<nanoseconds>(drift, kLeastDrift)) {
    return {std::format("baseline: P50 was {} in its first half and {} in its second: no steady state to compare with",
                        load::readable(first_half.from_intended.quantile(0.5)), load::readable(second_half.from_intended.quantile(0.5)))};
  }
  return {};
}

}  // namespace outrigger::chaos
