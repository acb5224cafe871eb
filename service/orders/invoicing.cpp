#include <format>
#include <nlohmann/json.hpp>

#include "service/orders/internal/business.h"

namespace outrigger::orders::internal {
namespace {

using participant::Command;
using participant::Database;
using participant::Decision;

// What a customer owes, so that a credit check need not add up the invoices.
constexpr const char* kOpenAmounts = R"sql(
  CREATE TABLE open_amounts (customer_id TEXT PRIMARY KEY, amount_cents INTEGER NOT NULL) WITHOUT ROWID;
)sql";

std::string money(std::int64_t cents) { return std::format("{}.{:02}", cents / 100, cents % 100); }

class Invoicing final : public Business {
 public:
  std::string_view do_type() const override { return "IssueInvoice"; }
  std::string_view undo_type() const override { return "VoidInvoice"; }

  Result<void> create(Database& database, const Catalogue& catalogue) override {
    if (const auto made = database.execute(R"sql(
          CREATE TABLE customers (id TEXT PRIMARY KEY, credit_limit_cents INTEGER NOT NULL);
          CREATE TABLE defaults (credit_limit_cents INTEGER NOT NULL);
          CREATE TABLE invoices (
            saga_id TEXT PRIMARY KEY, order_id TEXT NOT NULL, customer_id TEXT NOT NULL, amount_cents INTEGER NOT NULL, status TEXT NOT NULL)
          WITHOUT ROWID;
        )sql");
        !made) {
      return made;
    }
    if (const auto made = database.execute(kOpenAmounts); !made) {
      return made;
    }
    auto defaults = database.prepare("INSERT INTO defaults (credit_limit_cents) VALUES (?)");
    auto insert = database.prepare("INSERT INTO customers (id, credit_limit_cents) VALUES (?, ?)");
    for (const auto* statement : {&defaults, &insert}) {
      if (!*statement) {
        return std::unexpected(statement->error());
      }
    }
    if (const auto written = defaults->bind(1, catalogue.default_credit_limit_cents).run(); !written) {
      return written;
    }
    for (const auto& customer : catalogue.customers) {
      if (const auto written = insert->bind(1, customer.id).bind(2, customer.credit_limit_cents).run(); !written) {
        return written;
      }
    }
    return {};
  }

  Result<void> upgrade(Database& database, std::int64_t from_version) override {
    return from_version >= 2 ? Result<void>{} : database.execute(kOpenAmounts).and_then([&] {
      return database.execute(
          "INSERT INTO open_amounts SELECT customer_id, sum(amount_cents) FROM invoices WHERE status = 'ISSUED' GROUP BY customer_id");
    });
  }

  Result<Decision> apply(Database& database, const Command& command, const Order& order) override {
    auto credit = database.prepare(R"sql(
      SELECT coalesce((SELECT credit_limit_cents FROM customers WHERE id = ?1), (SELECT credit_limit_cents FROM defaults)),
             coalesce((SELECT amount_cents FROM open_amounts WHERE customer_id = ?1), 0))sql");
    auto issue = database.prepare("INSERT INTO invoices (saga_id, order_id, customer_id, amount_cents, status) VALUES (?, ?, ?, ?, 'ISSUED')");
    auto owe = database.prepare(R"sql(
      INSERT INTO open_amounts (customer_id, amount_cents) VALUES (?, ?)
      ON CONFLICT DO UPDATE SET amount_cents = amount_cents + excluded.amount_cents)sql");
    for (const auto* statement : {&credit, &issue, &owe}) {
      if (!*statement) {
        return std::unexpected(statement->error());
      }
    }
    if (const auto found = credit->bind(1, order.customer_id).step(); !found) {
      return std::unexpected(found.error());
    }
    const auto limit = credit->integer(0);
    const auto open = credit->integer(1);
    credit->reset();
    const auto amount = order.total_cents();
    if (amount > limit - open) {
      return Decision::failed(std::format("credit limit of {} exceeded: order {} + open invoices {} > limit {}", order.customer_id, money(amount),
                                          money(open), money(limit)));
    }
    if (const auto kept = issue->bind(1, command.saga_id).bind(2, order.order_id).bind(3, order.customer_id).bind(4, amount).run(); !kept) {
      return std::unexpected(kept.error());
    }
    if (const auto owed = owe->bind(1, order.customer_id).bind(2, amount).run(); !owed) {
      return std::unexpected(owed.error());
    }
    return Decision::success(nlohmann::json{{"invoice_id", command.saga_id}, {"amount_cents", amount}}.dump());
  }

  Result<Decision> undo(Database& database, const Command& command) override {
    auto forgive = database.prepare(R"sql(
      UPDATE open_amounts SET amount_cents = open_amounts.amount_cents - i.amount_cents
      FROM (SELECT customer_id, amount_cents FROM invoices WHERE saga_id = ? AND status = 'ISSUED') AS i
      WHERE open_amounts.customer_id = i.customer_id)sql");
    auto cancel = database.prepare("UPDATE invoices SET status = 'VOID' WHERE saga_id = ?");
    for (auto* statement : {&forgive, &cancel}) {
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

std::unique_ptr<Business> make_invoicing() { return std::make_unique<Invoicing>(); }

}  // namespace outrigger::orders::internal
