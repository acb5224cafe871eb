#include "chaos/runner/statistics.h"

#include <cmath>

#include "lib/runtime/error.h"

namespace outrigger::chaos {
namespace {

double log_factorial(std::uint64_t n) {
  int sign = 0;  // std::lgamma writes a global instead
  return lgamma_r(static_cast<double>(n) + 1, &sign);
}

double log_probability(std::uint64_t k, std::uint64_t n, double p) {
  const auto real = [](std::uint64_t value) { return static_cast<double>(value); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k) + real(k) * std::log(p) + real(n - k) * std::log1p(-p);
}

constexpr double kNegligible = 1e-15;

/// Terms from k down to 0; they shrink when k lies below the mode.
double sum_downwards(std::uint64_t k, std::uint64_t n, double p) {
  double term = std::exp(log_probability(k, n, p));
  double sum = term;
  for (; k > 0 && term > sum * kNegligible; --k) {
    term *= static_cast<double>(k) * (1 - p) / (static_cast<double>(n - k + 1) * p);
    sum += term;
  }
  return sum;
}

double sum_upwards(std::uint64_t k, std::uint64_t n, double p) {
  double term = std::exp(log_probability(k, n, p));
  double sum = term;
  for (; k < n && term > sum * kNegligible; ++k) {
    term *= static_cast<double>(n - k) * p / (static_cast<double>(k + 1) * (1 - p));
    sum += term;
  }
  return sum;
}

}  // namespace

double binomial_at_most(std::uint64_t k, std::uint64_t n, double p) {
  if (k >= n || p <= 0) {
    return 1;
  }
  if (p >= 1) {
    return 0;
  }
  return static_cast<double>(k) < static_cast<double>(n) * p ? sum_downwards(k, n, p) : 1 - sum_upwards(k + 1, n, p);
}

double binomial_at_least(std::uint64_t k, std::uint64_t n, double p) {
  if (k == 0) {
    return 1;
  }
  if (k > n || p <= 0) {
    return 0;
  }
  if (p >= 1) {
    return 1;
  }
  return static_cast<double>(k) > static_cast<double>(n) * p ? sum_upwards(k, n, p) : 1 - sum_downwards(k - 1, n, p);
}

std::string_view name(Finding finding) {
  switch (finding) {
    case Finding::kPass: return "pass";
    case Finding::kFail: return "fail";
    case Finding::kInconclusive: return "inconclusive";
  }
  impossible("chaos::Finding");
}

std::uint64_t least_samples(double allowed) {
  const double share = allowed <= 0 ? 0.01 : allowed;
  return share >= 1 ? 1 : static_cast<std::uint64_t>(std::ceil(std::log(kAlpha) / std::log1p(-share)));
}

Finding judge_share(std::uint64_t bad, std::uint64_t n, double allowed, double alpha_fail) {
  if (n == 0) {
    return Finding::kInconclusive;
  }
  if (allowed <= 0) {
    return bad == 0 ? Finding::kPass : Finding::kFail;
  }
  if (binomial_at_most(bad, n, allowed) <= kAlpha) {
    return Finding::kPass;
  }
  return binomial_at_least(bad, n, allowed) <= alpha_fail ? Finding::kFail : Finding::kInconclusive;
}

}  // namespace outrigger::chaos
