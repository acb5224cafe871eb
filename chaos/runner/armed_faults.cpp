#include "chaos/runner/armed_faults.h"

#include <algorithm>
#include <format>

#include <nlohmann/json.hpp>

#include "chaos/runner/clean_up.h"
#include "lib/runtime/duration.h"

namespace outrigger::chaos {

ArmedFaults::ArmedFaults(const Scenario& scenario, const std::string& run_id, const Environment& environment, Journal& journal)
    : environment_(environment), journal_(journal) {
  for (const auto& fault : scenario.faults) {
    faults_.push_back(
        {.progress = {.fault = &fault, .armed_id = armed_id(run_id, fault)}, .driver = environment.make_driver(fault.driver, fault.admin)});
  }
}

ArmedFaults::~ArmedFaults() { revert(); }

Result<void> ArmedFaults::apply() {
  for (auto& armed : faults_) {
    const auto& fault = *armed.progress.fault;
    const nlohmann::ordered_json intent{{"fault", fault.id},
                                        {"armed_id", armed.progress.armed_id},
                                        {"driver", fault.driver},
                                        {"admin", fault.admin},
                                        {"ttl", format_duration(fault.ttl)}};
    if (auto written = journal_.append("intent", intent); !written) {
      return written;
    }
    armed.may_be_armed = true;
    const auto applied = armed.driver->apply(armed.progress.armed_id, fault);
    if (!applied) {
      return fail(applied.error().code, std::format("fault {} could not be armed: {}", fault.id, applied.error().message), applied.error().context);
    }
    armed.is_armed = true;
    if (auto written = journal_.append("applied", {{"armed_id", armed.progress.armed_id}}); !written) {
      return written;
    }
    environment_.progress(std::format("fault {} is armed as {}", fault.id, armed.progress.armed_id));
  }
  return {};
}

void ArmedFaults::see(Armed& armed, const FaultState& state) {
  auto& progress = armed.progress;
  progress.hits = std::max(progress.hits, state.hits);
  if (!armed.is_proven && progress.hits >= progress.fault->proof.min_hits) {
    armed.is_proven = true;
    journal_.note("proven", {{"armed_id", progress.armed_id}, {"hits", progress.hits}});
  }
}

void ArmedFaults::poll() {
  for (auto& armed : faults_) {
    if (!armed.is_armed || armed.progress.is_lost) {
      continue;
    }
    const auto state = armed.driver->state(armed.progress.armed_id);
    if (state) {
      see(armed, *state);
    } else if (state.error().code == ErrorCode::kNotFound) {
      armed.progress.is_lost = true;
      journal_.note("lost", {{"armed_id", armed.progress.armed_id}, {"hits", armed.progress.hits}});
    }
  }
}

std::vector<std::string> ArmedFaults::revert() {
  std::vector<std::string> leftovers;
  for (auto& armed : faults_) {
    if (!armed.may_be_armed) {
      continue;
    }
    const auto& fault = *armed.progress.fault;
    const auto result = clean_up(*armed.driver, armed.progress.armed_id, journal_, environment_.clean_up_budget);
    if (result.was_armed) {
      see(armed, result.last);
    } else if (result.is_gone && armed.is_armed) {
      armed.progress.is_lost = true;
    }
    if (result.is_gone) {
      environment_.progress(std::format("fault {} is gone, {} hits", fault.id, armed.progress.hits));
    } else {
      leftovers.push_back(
          std::format("fault {} may still be armed at {}: {}; it ends by itself at most {} after it was armed. Run: outrigger chaos recover {}",
                      fault.id, fault.admin, result.problem, format_duration(fault.ttl), journal_.path()));
    }
    armed.may_be_armed = false;
  }
  return leftovers;
}

std::vector<ArmedFaults::Progress> ArmedFaults::progress() const {
  std::vector<Progress> all;
  std::ranges::transform(faults_, std::back_inserter(all), &Armed::progress);
  return all;
}

}  // namespace outrigger::chaos
