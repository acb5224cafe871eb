#include <format>
#include <nlohmann/json.hpp>

#include "service/orders/internal/business.h"

namespace outrigger::orders::internal {
namespace {

using participant::Command;
using participant::Database;
using participant::Decision;

class Logistics final : public Business {
 public:
  std::string_view do_type() const override { return "ScheduleShipment"; }
  std::string_view undo_type() const override { return "CancelShipment"; }

  Result<void> create(Database& database, const Catalogue& catalogue) override {
    if (const auto made = database.execute(R"sql(
          CREATE TABLE carriers (country TEXT NOT NULL, carrier TEXT NOT NULL, PRIMARY KEY (country, carrier));
          CREATE TABLE shipments (
            saga_id TEXT PRIMARY KEY, order_id TEXT NOT NULL, country TEXT NOT NULL, carrier TEXT NOT NULL, status TEXT NOT NULL)
          WITHOUT ROWID;
        )sql");
        !made) {
      return made;
    }
    auto insert = database.prepare("INSERT OR IGNORE INTO carriers (country, carrier) VALUES (?, ?)");
    if (!insert) {
      return std::unexpected(insert.error());
    }
    for (const auto& carrier : catalogue.carriers) {
      for (const auto& country : carrier.countries) {
        if (const auto written = insert->bind(1, country).bind(2, carrier.name).run(); !written) {
          return written;
        }
      }
    }
    return {};
  }

  Result<Decision> apply(Database& database, const Command& command, const Order& order) override {
    auto find = database.prepare("SELECT carrier FROM carriers WHERE country = ? ORDER BY carrier LIMIT 1");
    auto schedule = database.prepare("INSERT INTO shipments (saga_id, order_id, country, carrier, status) VALUES (?, ?, ?, ?, 'SCHEDULED')");
    for (const auto* statement : {&find, &schedule}) {
      if (!*statement) {
        return std::unexpected(statement->error());
      }
    }
    const auto found = find->bind(1, order.country).step();
    if (!found) {
      return std::unexpected(found.error());
    }
    if (!*found) {
      return Decision::failed(std::format("no carrier delivers to {}", order.country));
    }
    const auto carrier = find->text(0);
    find->reset();
    if (const auto kept = schedule->bind(1, command.saga_id).bind(2, order.order_id).bind(3, order.country).bind(4, carrier).run(); !kept) {
      return std::unexpected(kept.error());
    }
    return Decision::success(nlohmann::json{{"shipment_id", command.saga_id}, {"carrier", carrier}}.dump());
  }

  Result<Decision> undo(Database& database, const Command& command) override {
    auto cancel = database.prepare("UPDATE shipments SET status = 'CANCELLED' WHERE saga_id = ?");
    if (!cancel) {
      return std::unexpected(cancel.error());
    }
    if (const auto done = cancel->bind(1, command.saga_id).run(); !done) {
      return std::unexpected(done.error());
    }
    return Decision::success();
  }
};

}  // namespace

std::unique_ptr<Business> make_logistics() { return std::make_unique<Logistics>(); }

}  // namespace outrigger::orders::internal
