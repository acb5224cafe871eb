#pragma once

#include "lib/telemetry/metrics.h"

/// Every metric of outrigger-participants; label `participant`.
namespace outrigger::participants::metrics {

using telemetry::MetricInfo;

inline constexpr MetricInfo kCommands{"outrigger_carrier_commands_total", "Commands read from Kafka."};
inline constexpr MetricInfo kReplies{"outrigger_carrier_replies_total", "Replies written to Kafka, by outcome."};
inline constexpr MetricInfo kDeadLetters{"outrigger_carrier_dead_letters_total",
                                         "Records that could not be read as commands, written to the dead-letter topic."};
inline constexpr MetricInfo kContractFallbacks{"outrigger_carrier_contract_fallbacks_total",
                                               "Replies whose output does not fit the schema of their type and travelled as JSON text."};
inline constexpr MetricInfo kFailures{"outrigger_carrier_failures_total",
                                      "Batches whose replies or positions could not be written and were tried again."};
inline constexpr MetricInfo kConsumersRestarted{"outrigger_carrier_consumers_restarted_total",
                                                "Command consumers that were stuck and were made anew."};
inline constexpr MetricInfo kBatchDuration{"outrigger_carrier_batch_duration_seconds",
                                           "From a batch's first record to the brokers' acknowledgement of its replies."};
inline constexpr MetricInfo kPartitions{"outrigger_carrier_partitions_owned", "Command partitions that this process reads."};

}  // namespace outrigger::participants::metrics
