#pragma once

#include "lib/telemetry/metrics.h"

namespace outrigger::participant::metrics {

/// label `participant`, label `result`: executed, failed, repeated, nothing_to_undo, tombstone, refused, retry
inline constexpr telemetry::MetricInfo kInboxCommands{"outrigger_inbox_commands_total", "Commands by what the inbox did with them"};
/// label `participant`
inline constexpr telemetry::MetricInfo kInboxBatchSeconds{"outrigger_inbox_batch_seconds", "Time of a batch of commands, its commit included"};
inline constexpr telemetry::MetricInfo kInboxRolledBack{"outrigger_inbox_batches_rolled_back_total",
                                                        "Batches answered RETRY because the database could not commit them"};
inline constexpr telemetry::MetricInfo kInboxExpired{"outrigger_inbox_rows_expired_total",
                                                     "Stored replies removed because they were older than the retention"};

}  // namespace outrigger::participant::metrics
