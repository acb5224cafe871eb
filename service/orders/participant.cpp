#include "service/orders/participant.h"

#include <format>

#include "lib/participant/inbox.h"
#include "lib/runtime/ids.h"
#include "service/orders/internal/business.h"

namespace outrigger::orders {
namespace {

using participant::Command;
using participant::Database;
using participant::Decision;
using participant::Direction;

constexpr std::int64_t kSchemaVersion = 2;  // 2: invoicing keeps each customer's open amount
constexpr std::chrono::milliseconds kRetryAfter{100};

std::unique_ptr<internal::Business> make_business(ParticipantKind kind) {
  switch (kind) {
    case ParticipantKind::kInventory: return internal::make_inventory();
    case ParticipantKind::kLogistics: return internal::make_logistics();
    case ParticipantKind::kInvoicing: return internal::make_invoicing();
  }
  impossible("ParticipantKind");
}

Result<void> create(Database& database, internal::Business& business, const Catalogue& catalogue) {
  auto version = database.prepare("PRAGMA user_version");
  if (!version) {
    return std::unexpected(version.error());
  }
  if (const auto row = version->step(); !row) {
    return std::unexpected(row.error());
  }
  const auto found = version->integer(0);
  version->reset();
  if (found > kSchemaVersion) {
    return fail(
        ErrorCode::kFailedPrecondition,
        std::format("the database has format {}, this release reads up to {}: run the newer release, or another data folder", found, kSchemaVersion));
  }
  if (found == kSchemaVersion) {
    return {};
  }
  return database.execute("BEGIN IMMEDIATE")
      .and_then([&]() -> Result<void> {
        if (found > 0) {
          return business.upgrade(database, found);
        }
        return database.execute(internal::kEffectsSchema).and_then([&] { return business.create(database, catalogue); });
      })
      .and_then([&] { return database.execute(std::format("PRAGMA user_version = {}", kSchemaVersion)); })
      .and_then([&] { return database.execute("COMMIT"); });
}

}  // namespace

namespace internal {

Result<void> record_effect(Database& database, const Command& command, std::string_view what, WallTime at) {
  auto insert = database.prepare("INSERT INTO effects (effect_id, what, at) VALUES (?, ?, ?)");
  if (!insert) {
    return std::unexpected(insert.error());
  }
  return insert->bind(1, command.idempotency_key()).bind(2, what).bind(3, at.time_since_epoch().count()).run();
}

}  // namespace internal

class Participant::Impl {
 public:
  Impl(ParticipantKind kind, const ParticipantSettings& settings, Database database, std::unique_ptr<internal::Business> business)
      : kind_(kind), settings_(settings), database_(std::move(database)), business_(std::move(business)) {}

  Result<void> open_inbox(telemetry::Registry& registry) {
    auto inbox =
        participant::Inbox::open(database_, {.participant = std::string(name(kind_)), .retention = settings_.retention}, settings_.clock, registry);
    if (!inbox) {
      return std::unexpected(inbox.error());
    }
    inbox_.emplace(*std::move(inbox));
    return {};
  }

  std::vector<participant::Reply> process(std::span<const Command> commands) {
    return inbox_->process(commands, [this](Database& database, const Command& command) { return handle(database, command); });
  }

  [[nodiscard]] ParticipantKind kind() const { return kind_; }
  [[nodiscard]] std::chrono::milliseconds latency() const { return settings_.misbehaviour.latency; }

 private:
  Result<Decision> handle(Database& database, const Command& command) {
    const auto expected = command.direction == Direction::kDo ? business_->do_type() : business_->undo_type();
    if (command.type != expected) {
      return Decision::failed(
          std::format("{} does not know {}; here {} is {}", name(kind_), command.type, participant::name(command.direction), expected));
    }
    if (misbehaves(command)) {
      return Decision::retry("a failure that was configured", kRetryAfter);
    }
    auto decision = command.direction == Direction::kDo ? apply(database, command) : business_->undo(database, command);
    if (decision && decision->outcome == participant::Outcome::kSuccess) {
      if (const auto recorded = internal::record_effect(database, command, command.type, settings_.clock()); !recorded) {
        return std::unexpected(recorded.error());
      }
    }
    return decision;
  }

  Result<Decision> apply(Database& database, const Command& command) {
    const auto order = order_of(command);
    return order ? business_->apply(database, command, *order) : Decision::failed(order.error().message);
  }

  // Decided by seed, key and attempt alone, so that a run can be repeated and a retry can succeed.
  [[nodiscard]] bool misbehaves(const Command& command) const {
    if (settings_.misbehaviour.failure_rate <= 0) {
      return false;
    }
    auto mixed = stable_hash(std::format("{}/{}/{}", settings_.misbehaviour.seed, command.idempotency_key(), command.attempt));
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31U;
    return static_cast<double>(mixed >> 11U) * 0x1.0p-53 < settings_.misbehaviour.failure_rate;
  }

  ParticipantKind kind_;
  ParticipantSettings settings_;
  Database database_;
  std::unique_ptr<internal::Business> business_;
  std::optional<participant::Inbox> inbox_;
};

std::string_view name(ParticipantKind kind) {
  switch (kind) {
    case ParticipantKind::kInventory: return "inventory";
    case ParticipantKind::kLogistics: return "logistics";
    case ParticipantKind::kInvoicing: return "invoicing";
  }
  impossible("ParticipantKind");
}

std::string_view destination(ParticipantKind kind) {
  switch (kind) {
    case ParticipantKind::kInventory: return "cmd.inventory";
    case ParticipantKind::kLogistics: return "cmd.logistics";
    case ParticipantKind::kInvoicing: return "cmd.invoicing";
  }
  impossible("ParticipantKind");
}

Participant::Participant(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Participant::~Participant() = default;
ParticipantKind Participant::kind() const { return impl_->kind(); }
std::chrono::milliseconds Participant::latency() const { return impl_->latency(); }
std::vector<participant::Reply> Participant::process(std::span<const Command> commands) { return impl_->process(commands); }

Result<std::unique_ptr<Participant>> Participant::open(ParticipantKind kind, const ParticipantSettings& settings, const Catalogue& catalogue,
                                                       telemetry::Registry& registry) {
  std::error_code problem;
  std::filesystem::create_directories(settings.folder, problem);
  if (problem) {
    return fail(ErrorCode::kUnavailable, std::format("cannot make the folder: {}", problem.message()), settings.folder.string());
  }
  const auto file = settings.folder / std::format("{}.sqlite", name(kind));
  auto database = Database::open(file, settings.database);
  if (!database) {
    return std::unexpected(database.error());
  }
  auto business = make_business(kind);
  if (const auto created = create(*database, *business, catalogue); !created) {
    return fail(created.error().code, created.error().message, file.string());
  }
  auto impl = std::make_unique<Impl>(kind, settings, *std::move(database), std::move(business));
  if (const auto opened = impl->open_inbox(registry); !opened) {
    return std::unexpected(opened.error());
  }
  return std::unique_ptr<Participant>(new Participant(std::move(impl)));
}

}  // namespace outrigger::orders
