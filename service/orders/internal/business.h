#pragma once

#include <memory>
#include <string_view>

#include "lib/participant/inbox.h"
#include "lib/runtime/clock.h"
#include "service/orders/catalogue.h"
#include "service/orders/order.h"

namespace outrigger::orders::internal {

/// What one of the participants does; its tables are its own. Undo works from what the do recorded, never from the command's payload.
class Business {
 public:
  virtual ~Business() = default;
  /// Creates the tables and fills them from the catalogue; called once in a database's life, in a transaction.
  [[nodiscard]] virtual Result<void> create(participant::Database& database, const Catalogue& catalogue) = 0;
  /// Brings the tables of an older format to today's, in a transaction.
  [[nodiscard]] virtual Result<void> upgrade(participant::Database& /*database*/, std::int64_t /*from_version*/) { return {}; }
  [[nodiscard]] virtual std::string_view do_type() const = 0;
  [[nodiscard]] virtual std::string_view undo_type() const = 0;
  [[nodiscard]] virtual Result<participant::Decision> apply(participant::Database& database, const participant::Command& command,
                                                            const Order& order) = 0;
  [[nodiscard]] virtual Result<participant::Decision> undo(participant::Database& database, const participant::Command& command) = 0;
};

[[nodiscard]] std::unique_ptr<Business> make_inventory();
[[nodiscard]] std::unique_ptr<Business> make_logistics();
[[nodiscard]] std::unique_ptr<Business> make_invoicing();

/// Appends to the table `effects`: what a checker reads to prove that every effect happened once. The table has no unique
/// key on purpose, so that a second effect would show.
[[nodiscard]] Result<void> record_effect(participant::Database& database, const participant::Command& command, std::string_view what, WallTime at);
inline constexpr const char* kEffectsSchema = R"sql(
  CREATE TABLE effects (
    sequence INTEGER PRIMARY KEY,
    effect_id TEXT NOT NULL,  -- the command's idempotency key
    what TEXT NOT NULL,
    at INTEGER NOT NULL       -- milliseconds since 1970, UTC
  );
)sql";

}  // namespace outrigger::orders::internal
