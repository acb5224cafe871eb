#pragma once

#include "lib/telemetry/metrics.h"

/// Every metric of the journal on Kafka.
namespace outrigger::journal::metrics {

using telemetry::MetricInfo;

inline constexpr MetricInfo kTransactions{"outrigger_kafka_transactions_total", "Transactions of lanes, by outcome (committed, fenced, unknown)."};
inline constexpr MetricInfo kProducersOpened{"outrigger_kafka_producers_opened_total",
                                             "Transactional producers opened; beyond one a lane they were rebuilt."};
inline constexpr MetricInfo kRestoredRecords{"outrigger_kafka_restored_records_total",
                                             "Records read from the state topic when partitions were taken over."};
inline constexpr MetricInfo kCacheWipes{"outrigger_kafka_cache_wipes_total", "Partitions whose local cache was thrown away, by reason."};
inline constexpr MetricInfo kRebalances{"outrigger_kafka_rebalances_total",
                                        "Changes of the partitions that this process owns, by kind (assigned, revoked, lost)."};
inline constexpr MetricInfo kGeneration{"outrigger_kafka_group_generation", "Generation of the consumer group at the last assignment."};
inline constexpr MetricInfo kInboxPauses{"outrigger_kafka_inbox_pauses_total", "Times a lane had no room and its inbox partition was paused."};
inline constexpr MetricInfo kConsumerErrors{"outrigger_kafka_consumer_errors_total", "Errors that the inbox consumer reported."};
inline constexpr MetricInfo kConsumersRestarted{"outrigger_kafka_consumers_restarted_total", "Inbox consumers that were stuck and were made anew."};
inline constexpr MetricInfo kContractFallbacks{"outrigger_kafka_contract_fallbacks_total",
                                               "Commands whose payload does not fit the schema of their type and travelled as JSON text, by type."};

}  // namespace outrigger::journal::metrics
