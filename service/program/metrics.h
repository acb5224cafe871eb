#pragma once

#include "lib/telemetry/metrics.h"

/// Every metric of the program itself.
namespace outrigger::service::metrics {

using telemetry::MetricInfo;

inline constexpr MetricInfo kBuild{"outrigger_build_info", "Always 1; the label says which release runs."};
inline constexpr MetricInfo kLogDropped{"outrigger_log_records_dropped_total", "Log records dropped because the queue was full."};
inline constexpr MetricInfo kDefinitionReloads{
    "outrigger_definition_reloads_total",
    "Times the folder of saga definitions had changed, by result: added, or refused (the log says why, and the definitions before stay)."};
inline constexpr MetricInfo kDefinitionsRefused{"outrigger_definitions_refused",
                                                "1 while the folder of saga definitions holds what is refused, else 0."};

}  // namespace outrigger::service::metrics
