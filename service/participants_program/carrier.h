#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "lib/contracts/registry.h"
#include "lib/kafka/record.h"
#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "service/orders/participant.h"

namespace outrigger::participants {

struct CarrierSettings {
  kafka::ClientSettings client;
  std::string instance;          ///< static member of the group, one process each
  std::string contract_package;  ///< namespace of the schemas
  std::size_t batch_limit = 64;  ///< commands of one commit
  std::chrono::milliseconds session_timeout{10'000};
  /// Called once when the process must end: another one uses its instance name. From the carrier's thread.
  std::function<void(int exit_code, const std::string& why)> on_fatal;
};

/// Carries one participant's commands from its topic to it and the replies back, on a thread of its own.
///
/// Reads committed records only. A batch: its effects and stored replies are one transaction of the participant's database, then
/// the replies are written and acknowledged, then the positions are committed. A crash anywhere repeats the batch, which the
/// participant's inbox answers from its stored replies. What cannot be read goes to the dead-letter topic with its headers.
class Carrier final {
 public:
  /// Errors: kInvalidArgument (settings). `registry` outlives the carrier.
  [[nodiscard]] static Result<std::unique_ptr<Carrier>> start(CarrierSettings settings, std::unique_ptr<orders::Participant> participant,
                                                              contracts::SchemaRegistry contracts, telemetry::Registry& registry);
  /// Finishes the batch under way and stops.
  ~Carrier();

  /// Not an error: it has its partitions and its last batch succeeded. Never blocks.
  [[nodiscard]] Result<void> ready() const;

 private:
  class Impl;
  explicit Carrier(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::participants
