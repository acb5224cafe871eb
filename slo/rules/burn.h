#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slo/spec/slo.h"

namespace outrigger::slo {

/// One line of the multiwindow, multi-burn-rate table of the SRE workbook (chapter 5), for a period of 30 days: the alert fires when the
/// budget burns at `factor` over the long window and, so that it also ends soon, over the short one.
struct BurnRate {
  Decimal factor;
  std::string_view long_window;
  std::string_view short_window;
  int long_minutes;
  int short_minutes;
  std::string_view severity;  ///< critical: somebody is woken; warning: a ticket
};

/// The four lines: 14.4 (2 % of the budget in 1 h), 6 (5 % in 6 h), 3 (10 % in 1 d), 1 (10 % in 3 d).
[[nodiscard]] std::vector<BurnRate> burn_rates();

/// The ratio of bad events at which the line fires: factor · budget, exact.
[[nodiscard]] Decimal threshold(const BurnRate& rate, const Slo& slo);

/// Whether a total outage can reach the threshold at all: below 1. Low targets cannot burn at a high factor.
[[nodiscard]] bool is_reachable(const BurnRate& rate, const Slo& slo);

}  // namespace outrigger::slo
