#include "slo/rules/burn.h"

namespace outrigger::slo {

std::vector<BurnRate> burn_rates() {
  return {{Decimal::of(144, 1), "1h", "5m", 60, 5, "critical"},
          {Decimal::of(6, 0), "6h", "30m", 360, 30, "critical"},
          {Decimal::of(3, 0), "1d", "2h", 1440, 120, "warning"},
          {Decimal::of(1, 0), "3d", "6h", 4320, 360, "warning"}};
}

Decimal threshold(const BurnRate& rate, const Slo& slo) { return rate.factor * slo.budget(); }

bool is_reachable(const BurnRate& rate, const Slo& slo) { return threshold(rate, slo) < Decimal::of(1, 0); }

}  // namespace outrigger::slo
