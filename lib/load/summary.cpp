#include "lib/load/summary.h"

#include <algorithm>
#include <format>

namespace outrigger::load {

std::vector<StageResult> by_stage(const Summary& summary) {
  std::vector<StageResult> results;
  std::chrono::nanoseconds start{0};
  for (const auto& stage : summary.profile.stages) {
    results.push_back({.stage = stage, .start = start, .measured = summary.measured.between(start, start + stage.duration)});
    start += stage.duration;
  }
  return results;
}

Validity judge(const Summary& summary, const ValidityLimits& limits) {
  Validity validity;
  const auto& all = summary.measured.all;
  if (summary.offered == 0) {
    validity.reasons.emplace_back("no request was due: raise the rate or the duration");
    return validity;
  }
  const auto offered = static_cast<double>(summary.offered);
  validity.dropped_ratio = static_cast<double>(all.dropped) / offered;
  // Requests that started only after the end of the plan lower the rate that was achieved.
  const auto span = summary.stopped_early ? summary.elapsed : summary.planned;
  const double stretch =
      summary.measured.last_start > span ? std::chrono::duration<double>(summary.measured.last_start) / std::chrono::duration<double>(span) : 1.0;
  validity.achieved_ratio = static_cast<double>(all.sent) / offered / std::max(1.0, stretch);
  if (validity.achieved_ratio < limits.least_achieved) {
    validity.reasons.push_back(std::format("achieved {:.2f} % of the offered rate, less than {:.2f} %: add connections or lower the rate",
                                           validity.achieved_ratio * 100, limits.least_achieved * 100));
  }
  if (validity.dropped_ratio > limits.most_dropped) {
    validity.reasons.push_back(std::format("dropped {:.3f} % of the requests, more than {:.3f} %: add connections or lower the rate",
                                           validity.dropped_ratio * 100, limits.most_dropped * 100));
  }
  if (summary.cpu_ratio > limits.most_cpu) {
    validity.reasons.push_back(std::format("the generator used {:.0f} % of the CPUs, more than {:.0f} %: its own delays are in the latencies",
                                           summary.cpu_ratio * 100, limits.most_cpu * 100));
  }
  return validity;
}

}  // namespace outrigger::load
