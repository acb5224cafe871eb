#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/participant/message.h"
#include "lib/participant/sqlite.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "service/orders/catalogue.h"

namespace outrigger::orders {

enum class ParticipantKind : std::uint8_t { kInventory, kLogistics, kInvoicing };
inline constexpr std::array kParticipantKinds{ParticipantKind::kInventory, ParticipantKind::kLogistics, ParticipantKind::kInvoicing};

[[nodiscard]] std::string_view name(ParticipantKind kind);         ///< "inventory", …
[[nodiscard]] std::string_view destination(ParticipantKind kind);  ///< "cmd.inventory", …

/// How a participant misbehaves on purpose, to try retries and deadlines on.
struct Misbehaviour {
  std::chrono::milliseconds latency{0};  ///< before each batch
  double failure_rate = 0;               ///< 0 to 1: share of attempts that are answered RETRY without effect
  std::uint64_t seed = 1;                ///< the same seed lets the same attempts fail
};

struct ParticipantSettings {
  std::filesystem::path folder;                            ///< of the databases; made when absent
  std::chrono::milliseconds retention{30LL * 86'400'000};  ///< of stored replies; must exceed the longest life of a saga
  Misbehaviour misbehaviour;
  participant::DatabaseSettings database{};
  WallClock clock = wall_now;
};

/// One participant of the order example (inventory, logistics or invoicing) on its own SQLite database, behind the inbox.
/// The carrier (in-process queue, Kafka) brings batches of commands and takes the replies away. One thread at a time.
class Participant final {
 public:
  /// Opens `folder`/<name>.sqlite; a new database is filled from the catalogue, an existing one keeps what it has.
  /// Errors: kUnavailable, kDataLoss, kFailedPrecondition (written by a newer release).
  [[nodiscard]] static Result<std::unique_ptr<Participant>> open(ParticipantKind kind, const ParticipantSettings& settings,
                                                                 const Catalogue& catalogue, telemetry::Registry& registry);
  ~Participant();

  [[nodiscard]] ParticipantKind kind() const;
  /// How long the carrier waits before it hands a batch over (Misbehaviour::latency).
  [[nodiscard]] std::chrono::milliseconds latency() const;

  /// One reply a command, in their order. Effects and replies are durable when it returns.
  [[nodiscard]] std::vector<participant::Reply> process(std::span<const participant::Command> commands);

 private:
  class Impl;
  explicit Participant(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::orders
