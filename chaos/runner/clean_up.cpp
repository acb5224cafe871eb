#include "chaos/runner/clean_up.h"

#include <thread>

#include <nlohmann/json.hpp>

namespace outrigger::chaos {
namespace {

constexpr std::chrono::milliseconds kPause{200};

bool is_absent(const Result<FaultState>& answer) { return !answer && answer.error().code == ErrorCode::kNotFound; }

}  // namespace

CleanUp clean_up(FaultDriver& driver, const std::string& armed_id, Journal& journal, std::chrono::milliseconds budget) {
  const auto deadline = std::chrono::steady_clock::now() + budget;
  CleanUp result;
  bool is_reverted = false;
  bool is_outcome_unknown = false;
  journal.note("reverting", {{"armed_id", armed_id}});
  for (;;) {
    if (!is_reverted) {
      const auto reverted = driver.revert(armed_id);
      is_reverted = reverted.has_value() || is_absent(reverted);
      result.was_armed = reverted.has_value() || (is_absent(reverted) && is_outcome_unknown);
      if (reverted) {
        result.last = *reverted;
      }
      if (is_reverted) {
        journal.note("reverted",
                     {{"armed_id", armed_id}, {"was_armed", reverted.has_value()}, {"hits", result.last.hits}, {"skipped", result.last.skipped}});
      } else {
        is_outcome_unknown = true;
        result.problem = reverted.error().to_string();
      }
    }
    if (is_reverted) {
      const auto state = driver.state(armed_id);
      if (is_absent(state)) {
        result.is_gone = true;
        result.problem.clear();
        journal.note("verified", {{"armed_id", armed_id}});
        return result;
      }
      is_reverted = !state.has_value();  // armed after all: end it again
      result.problem = state ? "it is still armed after it was deleted" : state.error().to_string();
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      journal.note("unverified", {{"armed_id", armed_id}, {"problem", result.problem}});
      return result;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace outrigger::chaos
