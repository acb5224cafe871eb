#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "chaos/runner/statistics.h"
#include "chaos/spec/scenario.h"
#include "lib/load/recorder.h"

namespace outrigger::chaos {

/// What an assertion came to.
struct AssertionResult {
  std::string id;
  bool primary = false;
  bool is_latency = false;
  std::string text;     ///< "inject p99 <= 800ms"
  double measured = 0;  ///< seconds, or a ratio
  std::uint64_t n = 0;
  std::uint64_t bad = 0;  ///< samples on the wrong side of the limit
  double allowed = 0;     ///< share that may be
  std::uint64_t min_samples = 0;
  Finding finding = Finding::kInconclusive;
};

/// How much of a fault reached the system.
struct Dose {
  std::string fault;
  std::uint64_t hits = 0;
  std::uint64_t min_hits = 1;
  bool is_lost = false;  ///< it was gone before it was reverted: the target restarted, or somebody deleted it
  std::chrono::nanoseconds requested_delay{0};
  std::chrono::nanoseconds shift{0};  ///< P50 of inject minus P50 of baseline
  Proof proof;
};

/// The share of bad samples that an assertion allows.
[[nodiscard]] double allowed_share(const Assertion& assertion);
/// What it needs to be able to pass.
[[nodiscard]] std::uint64_t needed_samples(const Assertion& assertion);

/// `alpha_fail`: see judge_share; a secondary assertion gets its part of 5 %, so that many assertions do not fail by luck.
[[nodiscard]] AssertionResult judge(const Assertion& assertion, const load::Window& window, double alpha_fail);

/// Why the dose is not proven; empty: it is.
[[nodiscard]] std::vector<std::string> doubts_of(const Dose& dose);

/// Why the baseline is no steady state to compare with: too few samples, or its halves differ by more than kMostDrift of the lower and kLeastDrift.
inline constexpr double kMostDrift = 0.5;
inline constexpr std::chrono::milliseconds kLeastDrift{20};
inline constexpr std::uint64_t kLeastOfAHalf = 10;
[[nodiscard]] std::vector<std::string> baseline_doubts(const load::Window& first_half, const load::Window& second_half);

}  // namespace outrigger::chaos
