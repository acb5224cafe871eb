#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/kafka/consumer.h"
#include "lib/kafka/transactional_producer.h"
#include "service/journal/journal.h"
#include "service/journal/kafka/internal/cache.h"
#include "service/journal/kafka/internal/ownership.h"
#include "service/journal/kafka/internal/records.h"
#include "service/journal/kafka/kafka_journal.h"

namespace outrigger::journal::internal {

/// What lanes share with their journal; all of it outlives them.
struct LaneContext {
  const KafkaSettings& settings;
  const RecordCodec& codec;
  const kafka::Admin& admin;
  Ownership& ownership;
  Cache& cache;
  kafka::Consumer& inbox;              ///< for committed() only
  std::function<void()> on_committed;  ///< the brokers answer
  telemetry::Registry& metrics;
  std::string group;
};

/// One lane's transactions. Used by one thread.
class Lane final : public LaneJournal {
 public:
  Lane(LaneContext context, unsigned number);

  [[nodiscard]] Result<std::vector<Restored>> restore(std::span<const Assignment> assignments,
                                                      const std::function<void(const saga::SagaState&)>& unfinished) override;
  [[nodiscard]] Result<void> commit(const Batch& batch) override;

 private:
  [[nodiscard]] Result<void> open_producers();
  [[nodiscard]] Result<std::vector<kafka::Position>> read_positions(std::span<const Assignment> assignments);
  [[nodiscard]] Result<void> prime(std::span<const kafka::Position> positions, std::span<const Assignment> assignments);
  [[nodiscard]] std::unexpected<Error> refused(const kafka::WriteError& error, std::span<const InputPosition> positions);
  [[nodiscard]] bool loses_within_a_heartbeat(std::span<const InputPosition> positions) const;

  LaneContext context_;
  unsigned number_;
  /// In turn: the next transaction is the next one's. One for now; with two, the broker's markers of one are written while the
  /// other works.
  std::vector<std::unique_ptr<kafka::TransactionalProducer>> producers_;
  std::size_t turn_ = 0;
};

}  // namespace outrigger::journal::internal
