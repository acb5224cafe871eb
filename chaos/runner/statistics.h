#pragma once

#include <cstdint>
#include <string_view>

namespace outrigger::chaos {

/// P(X <= k) and P(X >= k) of a binomial distribution.
[[nodiscard]] double binomial_at_most(std::uint64_t k, std::uint64_t n, double p);
[[nodiscard]] double binomial_at_least(std::uint64_t k, std::uint64_t n, double p);

enum class Finding : std::uint8_t { kPass, kFail, kInconclusive };
[[nodiscard]] std::string_view name(Finding finding);

/// One-sided confidence of every pass.
inline constexpr double kAlpha = 0.05;

/// How many samples, none of them bad, show that at most the share `allowed` is bad: 299 for 1 %, 2995 for 0.1 %.
/// `allowed` 0 cannot be shown by samples; 299 then bound the share at 1 %.
[[nodiscard]] std::uint64_t least_samples(double allowed);

/// Is at most the share `allowed` of all requests bad, when `bad` of `n` samples were?
///
/// Exact binomial tests, samples taken as independent. kPass: so few were bad that a share above `allowed` is refuted at 95 %;
/// kFail: so many that a share of at most `allowed` is refuted at 1 - `alpha_fail`; else kInconclusive. `allowed` 0: one bad sample fails.
/// A limit of a quantile is such a question too: "P99 <= 1 s" says that at most 1 % take longer.
[[nodiscard]] Finding judge_share(std::uint64_t bad, std::uint64_t n, double allowed, double alpha_fail);

}  // namespace outrigger::chaos
