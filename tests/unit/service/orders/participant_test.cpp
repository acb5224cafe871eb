#include "service/orders/participant.h"

#include <set>

#include <gmock/gmock.h>

#include "tests/unit/service/orders/fixture.h"

namespace outrigger::orders {
namespace {

using participant::Direction;
using participant::Outcome;
using participant::Reply;
using ::testing::HasSubstr;

class ParticipantTest : public FolderTest {
 protected:
  void open(ParticipantKind kind) {
    participant_.reset();
    participant_ = Participant::open(kind, {.folder = folder_, .misbehaviour = misbehaviour_}, small_catalogue(), registry_).value();
  }
  Reply process(const participant::Command& command) { return participant_->process(std::span(&command, 1)).at(0); }
  Reply perform(std::string saga, std::string order) {
    return process(make_command(participant_->kind(), std::move(saga), Direction::kDo, std::move(order)));
  }
  // Undo must work from what was recorded: its payload is empty here.
  Reply undo(std::string saga) { return process(make_command(participant_->kind(), std::move(saga), Direction::kUndo, "null")); }

  std::int64_t query(const std::string& sql) {
    auto database = participant::Database::open(folder_ / std::format("{}.sqlite", name(participant_->kind()))).value();
    auto statement = database.prepare(sql).value();
    EXPECT_TRUE(statement.step().value()) << sql;
    return statement.integer(0);
  }
  std::int64_t effects(std::string_view what) { return query(std::format("SELECT count(*) FROM effects WHERE what = '{}'", what)); }

  telemetry::Registry registry_;
  Misbehaviour misbehaviour_;
  std::unique_ptr<Participant> participant_;
};

TEST_F(ParticipantTest, InventoryTakesStockAndGivesItBack) {
  open(ParticipantKind::kInventory);
  const auto reserved =
      perform("s1", make_order(R"([{"sku":"PADDLE","quantity":3,"unit_price_cents":1},{"sku":"PADDLE","quantity":2,"unit_price_cents":1}])"));
  EXPECT_EQ(reserved.outcome, Outcome::kSuccess);
  EXPECT_THAT(reserved.output, HasSubstr(R"("PADDLE":5)"));
  EXPECT_EQ(query("SELECT on_hand FROM stock WHERE sku = 'PADDLE'"), 5);
  EXPECT_EQ(undo("s1").outcome, Outcome::kSuccess);
  EXPECT_EQ(undo("s1").outcome, Outcome::kSuccess);
  EXPECT_EQ(query("SELECT on_hand FROM stock WHERE sku = 'PADDLE'"), 10);
  EXPECT_EQ(query("SELECT count(*) FROM reservations WHERE status = 'RELEASED'"), 1);
  EXPECT_EQ(effects("ReserveInventory"), 1);
  EXPECT_EQ(effects("ReleaseInventory"), 1);
}

TEST_F(ParticipantTest, InventoryRefusesWhatItDoesNotHaveAndKeepsTheRest) {
  open(ParticipantKind::kInventory);
  const auto short_of =
      perform("s1", make_order(R"([{"sku":"PADDLE","quantity":1,"unit_price_cents":1},{"sku":"ROPE","quantity":6,"unit_price_cents":1}])"));
  EXPECT_EQ(short_of.outcome, Outcome::kFailed);
  EXPECT_EQ(short_of.reason, "not enough stock of ROPE: 6 ordered, 5 left");
  const auto unknown =
      perform("s2", make_order(R"([{"sku":"KEEL","quantity":1,"unit_price_cents":1},{"sku":"PADDLE","quantity":1,"unit_price_cents":1}])"));
  EXPECT_EQ(unknown.outcome, Outcome::kFailed);
  EXPECT_EQ(unknown.reason, "unknown SKU KEEL");
  EXPECT_EQ(query("SELECT on_hand FROM stock WHERE sku = 'PADDLE'"), 10);
  EXPECT_EQ(query("SELECT count(*) FROM effects"), 0);
  EXPECT_EQ(query("SELECT count(*) FROM reservations"), 0);
}

TEST_F(ParticipantTest, InventoryCountsAllLinesOfAnOrderTogether) {
  open(ParticipantKind::kInventory);
  const auto refused =
      perform("s1", make_order(R"([{"sku":"ROPE","quantity":3,"unit_price_cents":1},{"sku":"ROPE","quantity":3,"unit_price_cents":1}])"));
  EXPECT_EQ(refused.reason, "not enough stock of ROPE: 6 ordered, 5 left");
}

TEST_F(ParticipantTest, LogisticsSchedulesAndCancels) {
  open(ParticipantKind::kLogistics);
  EXPECT_THAT(perform("s1", make_order(R"([{"sku":"PADDLE","quantity":1,"unit_price_cents":1}])")).output, HasSubstr(R"("carrier":"Harbour")"));
  EXPECT_EQ(undo("s1").outcome, Outcome::kSuccess);
  EXPECT_EQ(query("SELECT count(*) FROM shipments WHERE status = 'CANCELLED'"), 1);
}

TEST_F(ParticipantTest, LogisticsRefusesACountryWithoutCarrier) {
  open(ParticipantKind::kLogistics);
  const auto refused = perform("s1", make_order(R"([{"sku":"PADDLE","quantity":1,"unit_price_cents":1}])", "AQ"));
  EXPECT_EQ(refused.outcome, Outcome::kFailed);
  EXPECT_EQ(refused.reason, "no carrier delivers to AQ");
  EXPECT_EQ(query("SELECT count(*) FROM shipments"), 0);
}

TEST_F(ParticipantTest, InvoicingCountsOpenInvoicesAgainstTheLimitUntilTheyAreVoid) {
  open(ParticipantKind::kInvoicing);
  const auto order = make_order(R"([{"sku":"PADDLE","quantity":3,"unit_price_cents":200}])");
  EXPECT_EQ(perform("s1", order).outcome, Outcome::kSuccess);
  const auto refused = perform("s2", order);
  EXPECT_EQ(refused.outcome, Outcome::kFailed);
  EXPECT_EQ(refused.reason, "credit limit of C1 exceeded: order 6.00 + open invoices 6.00 > limit 10.00");
  EXPECT_EQ(undo("s1").outcome, Outcome::kSuccess);
  EXPECT_EQ(perform("s3", order).outcome, Outcome::kSuccess);
}

TEST_F(ParticipantTest, InvoicingForgivesAVoidInvoiceOnce) {
  open(ParticipantKind::kInvoicing);
  EXPECT_EQ(perform("s1", make_order(R"([{"sku":"X","quantity":1,"unit_price_cents":600}])")).outcome, Outcome::kSuccess);
  EXPECT_EQ(perform("s2", make_order(R"([{"sku":"X","quantity":1,"unit_price_cents":300}])")).outcome, Outcome::kSuccess);
  EXPECT_EQ(undo("s1").outcome, Outcome::kSuccess);
  EXPECT_EQ(undo("s1").outcome, Outcome::kSuccess);
  EXPECT_EQ(query("SELECT amount_cents FROM open_amounts WHERE customer_id = 'C1'"), 300);
}

TEST_F(ParticipantTest, ADatabaseOfTheFirstFormatIsBroughtUpWithWhatCustomersOwe) {
  open(ParticipantKind::kInvoicing);
  const auto order = make_order(R"([{"sku":"PADDLE","quantity":3,"unit_price_cents":200}])");
  ASSERT_EQ(perform("s1", order).outcome, Outcome::kSuccess);
  ASSERT_EQ(undo("s1").outcome, Outcome::kSuccess);
  ASSERT_EQ(perform("s2", order).outcome, Outcome::kSuccess);
  participant_.reset();
  {
    auto database = participant::Database::open(folder_ / "invoicing.sqlite").value();
    ASSERT_TRUE(database.execute("DROP TABLE open_amounts; PRAGMA user_version = 1").has_value());
  }
  open(ParticipantKind::kInvoicing);
  EXPECT_EQ(query("SELECT amount_cents FROM open_amounts WHERE customer_id = 'C1'"), 600);
  EXPECT_EQ(perform("s3", order).outcome, Outcome::kFailed);
}

TEST_F(ParticipantTest, InvoicingAllowsExactlyTheLimitAndGivesStrangersTheDefault) {
  open(ParticipantKind::kInvoicing);
  EXPECT_EQ(perform("s1", make_order(R"([{"sku":"X","quantity":1,"unit_price_cents":1000}])")).outcome, Outcome::kSuccess);
  EXPECT_EQ(perform("s2", make_order(R"([{"sku":"X","quantity":1,"unit_price_cents":301}])", "DE", "C2")).outcome, Outcome::kFailed);
  EXPECT_EQ(perform("s3", make_order(R"([{"sku":"X","quantity":1,"unit_price_cents":300}])", "DE", "C2")).outcome, Outcome::kSuccess);
}

TEST_F(ParticipantTest, ADatabaseThatExistsKeepsItsStock) {
  open(ParticipantKind::kInventory);
  perform("s1", make_order(R"([{"sku":"PADDLE","quantity":4,"unit_price_cents":1}])"));
  open(ParticipantKind::kInventory);
  EXPECT_EQ(query("SELECT on_hand FROM stock WHERE sku = 'PADDLE'"), 6);
  EXPECT_EQ(perform("s1", make_order(R"([{"sku":"PADDLE","quantity":4,"unit_price_cents":1}])")).outcome, Outcome::kSuccess);
  EXPECT_EQ(query("SELECT on_hand FROM stock WHERE sku = 'PADDLE'"), 6);
}

TEST_F(ParticipantTest, ADatabaseOfANewerReleaseIsRefused) {
  open(ParticipantKind::kInventory);
  {
    auto database = participant::Database::open(folder_ / "inventory.sqlite").value();
    ASSERT_TRUE(database.execute("PRAGMA user_version = 3").has_value());
  }
  const auto opened = Participant::open(ParticipantKind::kInventory, {.folder = folder_, .misbehaviour = {}}, small_catalogue(), registry_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(opened.error().to_string(), HasSubstr("run the newer release"));
}

TEST_F(ParticipantTest, WhatItCannotReadIsRefusedForGood) {
  open(ParticipantKind::kInventory);
  EXPECT_THAT(perform("s1", R"({"order_id":"O1"})").reason, HasSubstr("the input is not an order"));
  auto strange = make_command(ParticipantKind::kInventory, "s2", Direction::kDo, "{}");
  strange.type = "Refund";
  EXPECT_EQ(process(strange).outcome, Outcome::kFailed);
  EXPECT_THAT(process(strange).reason, HasSubstr("does not know Refund"));
}

TEST_F(ParticipantTest, AnotherSeedLetsOtherAttemptsFail) {
  std::vector<participant::Command> commands;
  for (int i = 0; i < 16; ++i) {
    commands.push_back(make_command(ParticipantKind::kLogistics, std::format("s{}", i), Direction::kDo,
                                    make_order(R"([{"sku":"PADDLE","quantity":1,"unit_price_cents":1}])")));
  }
  std::set<std::vector<Outcome>> seen;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto fresh = Participant::open(ParticipantKind::kLogistics,
                                         {.folder = folder_ / std::to_string(seed), .misbehaviour = {.failure_rate = 0.5, .seed = seed}},
                                         small_catalogue(), registry_);
    std::vector<Outcome> outcomes;
    for (const auto& reply : fresh.value()->process(commands)) {
      outcomes.push_back(reply.outcome);
    }
    seen.insert(outcomes);
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST_F(ParticipantTest, ConfiguredFailuresReachUndosToo) {
  open(ParticipantKind::kInventory);
  EXPECT_EQ(perform("s1", make_order(R"([{"sku":"PADDLE","quantity":1,"unit_price_cents":1}])")).outcome, Outcome::kSuccess);
  misbehaviour_ = {.failure_rate = 1};
  open(ParticipantKind::kInventory);
  EXPECT_EQ(undo("s1").outcome, Outcome::kRetry);
  EXPECT_EQ(query("SELECT on_hand FROM stock WHERE sku = 'PADDLE'"), 9);
  misbehaviour_ = {};
  open(ParticipantKind::kInventory);
  EXPECT_EQ(undo("s1").outcome, Outcome::kSuccess);
  EXPECT_EQ(query("SELECT on_hand FROM stock WHERE sku = 'PADDLE'"), 10);
}

TEST_F(ParticipantTest, ConfiguredFailuresRepeatWithTheirSeedAndLeaveNothing) {
  misbehaviour_ = {.failure_rate = 0.5, .seed = 7};
  const auto order = make_order(R"([{"sku":"PADDLE","quantity":1,"unit_price_cents":1}])");
  const auto outcomes = [&] {
    std::vector<Outcome> seen;
    for (int i = 0; i < 10; ++i) {
      seen.push_back(perform(std::format("s{}", i), order).outcome);
    }
    return seen;
  };
  open(ParticipantKind::kInventory);
  const auto first = outcomes();
  EXPECT_THAT(first, ::testing::Contains(Outcome::kRetry));
  EXPECT_THAT(first, ::testing::Contains(Outcome::kSuccess));
  EXPECT_EQ(outcomes(), first);
  EXPECT_EQ(effects("ReserveInventory"), std::ranges::count(first, Outcome::kSuccess));
  // Other attempts have other luck: in the end every command succeeds.
  for (int i = 0; i < 10; ++i) {
    auto command = make_command(ParticipantKind::kInventory, std::format("s{}", i), Direction::kDo, order);
    auto outcome = Outcome::kRetry;
    for (command.attempt = 2; command.attempt < 40 && outcome == Outcome::kRetry; ++command.attempt) {
      outcome = process(command).outcome;
    }
    EXPECT_EQ(outcome, Outcome::kSuccess);
  }
  EXPECT_EQ(effects("ReserveInventory"), 10);
}

}  // namespace
}  // namespace outrigger::orders
