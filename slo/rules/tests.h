#pragma once

#include <string>
#include <string_view>

#include "lib/runtime/error.h"
#include "slo/rules/generate.h"
#include "slo/spec/slo.h"

namespace outrigger::slo {

/// A promtool test file for the rules of one SLO; `rule_file` is the path of the rules as seen from the test.
///
/// Cases: a total outage fires and resolves each burn rate; just below a factor it stays quiet and just above it fires; zero traffic,
/// a counter reset and too few bad events fire nothing; a counter that does not exist yet counts as 0; without any series the absent alert fires,
/// with its labels and annotations. Errors: kFailedPrecondition when no example labels can be found for the selectors.
[[nodiscard]] Result<std::string> generate_tests(const Slo& slo, std::string_view rule_file, std::string_view remark,
                                                 std::string_view runbooks = kRunbooks);

}  // namespace outrigger::slo
