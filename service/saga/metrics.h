#pragma once

#include <array>

#include "lib/telemetry/metrics.h"

/// Every metric of the saga engine.
namespace outrigger::saga::metrics {

using telemetry::MetricInfo;

inline constexpr MetricInfo kStarted{"outrigger_sagas_started_total", "Sagas started, by definition."};
inline constexpr MetricInfo kFinished{"outrigger_sagas_finished_total",
                                      "Sagas that ended, by definition and outcome (COMPLETED, COMPENSATED, ABANDONED)."};
inline constexpr MetricInfo kActive{"outrigger_sagas_active", "Sagas that are not finished, by status."};
inline constexpr MetricInfo kOldestAge{"outrigger_sagas_oldest_age_seconds", "Age of the oldest saga that is not finished; 0 when there is none."};
inline constexpr MetricInfo kDeadlineExceeded{"outrigger_sagas_deadline_exceeded_total",
                                              "Sagas whose deadline passed before every step had succeeded, by definition."};
inline constexpr MetricInfo kDuration{"outrigger_saga_duration_seconds", "From the start of a saga to its end, by definition and outcome."};
inline constexpr MetricInfo kStuckTotal{"outrigger_sagas_stuck_total", "Times a saga became stuck, by definition."};
inline constexpr MetricInfo kParked{"outrigger_sagas_parked_total",
                                    "Times a saga could not go on because its definition or state could not be read."};
inline constexpr MetricInfo kStepDuration{"outrigger_saga_step_duration_seconds",
                                          "From the first send of a step's command to its outcome, by definition, step and outcome."};
inline constexpr MetricInfo kStepRetries{"outrigger_saga_step_retries_total", "Commands sent again, by definition, step and direction."};
inline constexpr MetricInfo kStepUnknown{"outrigger_saga_step_unknown_total", "Steps given up without a definite answer, by definition and step."};
inline constexpr MetricInfo kQueueWait{"outrigger_saga_queue_wait_seconds",
                                       "How long the first input of a commit had waited for its lane, which commits meanwhile."};
inline constexpr MetricInfo kDecideDuration{"outrigger_saga_decide_duration_seconds", "Time to load and decide the inputs of one commit."};
inline constexpr MetricInfo kCommitDuration{"outrigger_journal_commit_duration_seconds", "Time of one commit to the journal."};
inline constexpr MetricInfo kCommitInputs{"outrigger_journal_commit_inputs", "Inputs in one commit."};
inline constexpr MetricInfo kCommitFailures{"outrigger_journal_commit_failures_total",
                                            "Commits whose outcome was not known or that were fenced, by reason."};
inline constexpr MetricInfo kRestores{"outrigger_journal_restores_total", "Partitions restored."};
inline constexpr MetricInfo kRestoredSagas{"outrigger_sagas_restored_total", "Unfinished sagas found by restores."};
inline constexpr MetricInfo kRestoreDuration{"outrigger_journal_restore_duration_seconds", "Time of one restore of a lane's partitions."};
inline constexpr MetricInfo kTimerLateness{"outrigger_saga_timer_lateness_seconds", "How long after its due time a timer was handled."};
inline constexpr MetricInfo kDuplicates{"outrigger_saga_inputs_absorbed_total",
                                        "Inputs that said nothing new, by kind (reply, timer, unknown_saga, start)."};
inline constexpr MetricInfo kQueueFull{"outrigger_saga_queue_full_total",
                                       "Inputs refused because a lane's queue was full, by queue (start, reply, inbox, wait)."};
inline constexpr MetricInfo kTransportFull{"outrigger_saga_transport_full_total",
                                           "Commands that found no room with the transport and were offered again later."};
inline constexpr MetricInfo kDeadLetters{"outrigger_saga_dead_letters_total", "Inbox records that could not be used."};
inline constexpr MetricInfo kPartitionsOwned{"outrigger_saga_partitions_owned", "Partitions that this process owns."};
inline constexpr MetricInfo kRemoved{"outrigger_sagas_removed_total", "Finished sagas removed after their retention."};

inline constexpr std::array kCommitInputBuckets{1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0};
inline constexpr std::array kSagaSeconds{0.01, 0.025, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0};

}  // namespace outrigger::saga::metrics
