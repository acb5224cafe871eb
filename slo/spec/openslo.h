#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/error.h"
#include "lib/yaml/node.h"
#include "slo/spec/slo.h"

namespace outrigger::slo {

/// Reads an OpenSLO v1 document of kind SLO (github.com/OpenSLO/OpenSLO), one Slo an objective.
///
/// The profile that is supported: an inline indicator with a ratioMetric of counters, `good` or `bad` over `total`; metricSource.type
/// Prometheus with spec.query a bare counter selector; budgetingMethod Occurrences; one rolling timeWindow of 1d to 90d;
/// objectives with `target` (0.99995) or `targetPercent` (99.995), read as exact decimals. Annotations:
/// `outrigger.dev/component`, `outrigger.dev/min-bad-events`, `outrigger.dev/dashboard-url`.
/// What the specification has beyond that is refused by name, never ignored.
///
/// Errors: kInvalidArgument with a line "file:line:column: …" for every problem.
[[nodiscard]] Result<std::vector<Slo>> read_openslo(const yaml::Node& document);

/// Every SLO of a file with one or more documents.
[[nodiscard]] Result<std::vector<Slo>> read_openslo_file(const std::string& path);

}  // namespace outrigger::slo
