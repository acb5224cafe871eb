#pragma once

#include "lib/telemetry/metrics.h"

/// Metrics of the fault engine.
namespace outrigger::fault::metrics {

using telemetry::MetricInfo;

/// Labels: fault (its id), action (delay, abort).
inline constexpr MetricInfo kInjected{"outrigger_sidecar_fault_injected_total", "Requests that a fault was applied to."};
/// Labels: fault, reason: trigger (not selected), shadowed (an older fault of the same action applied).
inline constexpr MetricInfo kSkipped{"outrigger_sidecar_fault_skipped_total", "Requests that matched a fault and were left alone."};
inline constexpr MetricInfo kActive{"outrigger_sidecar_fault_active", "Faults that are armed now."};
/// Label: fault. Absent once the fault has ended.
inline constexpr MetricInfo kExpiry{"outrigger_sidecar_fault_expiry_timestamp_seconds", "When an armed fault ends by itself, in Unix time."};
/// Label: reason (ttl, deleted, kill_switch, drain).
inline constexpr MetricInfo kDisarmed{"outrigger_sidecar_fault_disarmed_total", "Faults that ended."};
/// Label: limit (faults).
inline constexpr MetricInfo kLimitReached{"outrigger_sidecar_fault_limit_reached_total", "Faults refused because a limit was reached."};

}  // namespace outrigger::fault::metrics
