#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "chaos/runner/plan.h"
#include "chaos/runner/recover.h"
#include "chaos/runner/run.h"
#include "chaos/spec/scenario.h"

namespace outrigger::chaos {

[[nodiscard]] nlohmann::ordered_json to_json(const Scenario& scenario, const Plan& plan);
[[nodiscard]] nlohmann::ordered_json to_json(const Scenario& scenario, const RunReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(const Recovery& recovery);

/// Lines for people; the verdict is the last.
[[nodiscard]] std::string to_text(const Scenario& scenario, const Plan& plan);
[[nodiscard]] std::string to_text(const Scenario& scenario, const RunReport& report);
[[nodiscard]] std::string to_text(const Recovery& recovery);

}  // namespace outrigger::chaos
