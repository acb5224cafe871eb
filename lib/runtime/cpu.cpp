#include "lib/runtime/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace outrigger {
namespace {

unsigned ceil_ratio(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1U, static_cast<unsigned>(std::ceil(quota / period))) : 0;
}

// 0: no quota.
unsigned quota_cpus() {
  std::string quota;
  double period = 0;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> quota >> period) {
    return quota == "max" ? 0 : ceil_ratio(std::strtod(quota.c_str(), nullptr), period);
  }
  double v1_quota = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"); !(file >> v1_quota)) {
    return 0;
  }
  if (std::ifstream file("/sys/fs/cgroup/cpu/cpu.cfs_period_us"); !(file >> period)) {
    return 0;
  }
  return ceil_ratio(v1_quota, period);
}

}  // namespace

unsigned available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const unsigned affinity = sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
  const unsigned quota = quota_cpus();
  return std::max(1U, quota == 0 ? affinity : std::min(affinity, quota));
}

}  // namespace outrigger
