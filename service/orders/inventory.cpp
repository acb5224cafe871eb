#include <format>
#include <map>
#include <nlohmann/json.hpp>

#include "service/orders/internal/business.h"

namespace outrigger::orders::internal {
namespace {

using participant::Command;
using participant::Database;
using participant::Decision;

class Inventory final : public Business {
 public:
  std::string_view do_type() const override { return "ReserveInventory"; }
  std::string_view undo_type() const override { return "ReleaseInventory"; }

  Result<void> create(Database& database, const Catalogue& catalogue) override {
    if (const auto made = database.execute(R"sql(
          CREATE TABLE stock (sku TEXT PRIMARY KEY, name TEXT NOT NULL, initial INTEGER NOT NULL, on_hand INTEGER NOT NULL CHECK (on_hand >= 0));
          CREATE TABLE reservations (
            saga_id TEXT NOT NULL, order_id TEXT NOT NULL, sku TEXT NOT NULL REFERENCES stock (sku), quantity INTEGER NOT NULL,
            status TEXT NOT NULL, PRIMARY KEY (saga_id, sku)) WITHOUT ROWID;
        )sql");
        !made) {
      return made;
    }
    auto insert = database.prepare("INSERT INTO stock (sku, name, initial, on_hand) VALUES (?1, ?2, ?3, ?3)");
    if (!insert) {
      return std::unexpected(insert.error());
    }
    for (const auto& product : catalogue.products) {
      if (const auto written = insert->bind(1, product.sku).bind(2, product.name).bind(3, product.stock).run(); !written) {
        return written;
      }
    }
    return {};
  }

  Result<Decision> apply(Database& database, const Command& command, const Order& order) override {
    std::map<std::string, std::int64_t> wanted;
    for (const auto& line : order.lines) {
      wanted[line.sku] += line.quantity;
    }
    auto find = database.prepare("SELECT on_hand FROM stock WHERE sku = ?");
    auto take = database.prepare("UPDATE stock SET on_hand = on_hand - ?2 WHERE sku = ?1");
    auto reserve = database.prepare("INSERT INTO reservations (saga_id, order_id, sku, quantity, status) VALUES (?, ?, ?, ?, 'RESERVED')");
    for (const auto* statement : {&find, &take, &reserve}) {
      if (!*statement) {
        return std::unexpected(statement->error());
      }
    }
    for (const auto& [sku, quantity] : wanted) {
      const auto found = find->bind(1, sku).step();
      if (!found) {
        return std::unexpected(found.error());
      }
      if (!*found) {
        return Decision::failed(std::format("unknown SKU {}", sku));
      }
      const auto on_hand = find->integer(0);
      find->reset();
      if (on_hand < quantity) {
        return Decision::failed(std::format("not enough stock of {}: {} ordered, {} left", sku, quantity, on_hand));
      }
      if (const auto taken = take->bind(1, sku).bind(2, quantity).run(); !taken) {
        return std::unexpected(taken.error());
      }
      if (const auto kept = reserve->bind(1, command.saga_id).bind(2, order.order_id).bind(3, sku).bind(4, quantity).run(); !kept) {
        return std::unexpected(kept.error());
      }
    }
    return Decision::success(nlohmann::json{{"reservation_id", command.saga_id}, {"reserved", wanted}}.dump());
  }

  Result<Decision> undo(Database& database, const Command& command) override {
    auto give_back = database.prepare(R"sql(
      UPDATE stock SET on_hand = on_hand + r.quantity
      FROM (SELECT sku, quantity FROM reservations WHERE saga_id = ? AND status = 'RESERVED') AS r WHERE stock.sku = r.sku)sql");
    auto release = database.prepare("UPDATE reservations SET status = 'RELEASED' WHERE saga_id = ?");
    for (auto* statement : {&give_back, &release}) {
      if (!*statement) {
        return std::unexpected(statement->error());
      }
      if (const auto done = (*statement)->bind(1, command.saga_id).run(); !done) {
        return std::unexpected(done.error());
      }
    }
    return Decision::success();
  }
};

}  // namespace

std::unique_ptr<Business> make_inventory() { return std::make_unique<Inventory>(); }

}  // namespace outrigger::orders::internal
