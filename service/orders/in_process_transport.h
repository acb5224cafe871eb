#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lib/telemetry/metrics.h"
#include "service/orders/participant.h"
#include "service/saga/transport.h"

namespace outrigger::orders {

/// Brings commands to participants in the same process: a bounded queue and a thread for each, which takes what waits as one batch.
///
/// offer() answers false when the participant's queue is full or nobody serves the destination. Thread-safe.
class InProcessTransport final : public saga::CommandTransport {
 public:
  struct Settings {
    std::size_t queue_capacity = 1'024;  ///< commands, per participant
    std::size_t batch_limit = 64;        ///< commands of one commit
  };

  InProcessTransport(Settings settings, std::vector<std::unique_ptr<Participant>> participants, telemetry::Registry& registry);
  ~InProcessTransport() override;

  [[nodiscard]] bool offer(const participant::Command& command) override;
  [[nodiscard]] bool serves(std::string_view destination) const;

  /// Starts the threads. `replies` must outlive stop().
  void start(saga::ReplySink& replies);
  /// Finishes the batches under way, forgets what is queued (it is sent again after a restart), joins. Idempotent.
  void stop();

 private:
  class Worker;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace outrigger::orders
