#include "service/orders/order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace outrigger::orders {
namespace {

constexpr std::string_view kGood =
    R"({"order_id":"O-1","customer_id":"C-1","country":"DE","note":"ignored","lines":[{"sku":"PADDLE","quantity":2,"unit_price_cents":8990},{"sku":"ROPE","quantity":1,"unit_price_cents":0}]})";

TEST(Order, ReadsEveryFieldAndSumsTheTotal) {
  const auto order = parse_order(kGood);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->order_id, "O-1");
  EXPECT_EQ(order->customer_id, "C-1");
  EXPECT_EQ(order->country, "DE");
  ASSERT_EQ(order->lines.size(), 2U);
  EXPECT_EQ(order->lines[0].sku, "PADDLE");
  EXPECT_EQ(order->total_cents(), 17'980);
}

TEST(Order, TheLargestOrderHasATotal) {
  Order order;
  order.lines.assign(kMaxLines, {.sku = "X", .quantity = kMaxQuantity, .unit_price_cents = kMaxUnitPriceCents});
  EXPECT_EQ(order.total_cents(), 10'000'000'000'000'000);
}

struct BadOrder {
  const char* from;
  const char* to;
  const char* pointer;
  const char* detail;
};

class BadOrders : public ::testing::TestWithParam<BadOrder> {};

TEST_P(BadOrders, NameTheFieldAndWhatItMustBe) {
  auto text = std::string(kGood);
  const auto at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string_view(GetParam().from).size(), GetParam().to);
  const auto order = parse_order(text);
  ASSERT_FALSE(order.has_value()) << text;
  ASSERT_EQ(order.error().size(), 1U);
  EXPECT_EQ(order.error()[0].pointer, GetParam().pointer);
  EXPECT_TRUE(order.error()[0].detail.contains(GetParam().detail)) << order.error()[0].detail;
}

INSTANTIATE_TEST_SUITE_P(
    Order, BadOrders,
    ::testing::Values(
        BadOrder{R"("order_id":"O-1",)", "", "/order_id", "is missing"}, BadOrder{R"("O-1")", "17", "/order_id", "must be a text, not number"},
        BadOrder{R"("O-1")", R"("")", "/order_id", "1 to 64 letters"}, BadOrder{R"("O-1")", R"("a b")", "/order_id", "1 to 64 letters"},
        BadOrder{R"("O-1")", R"("a/b")", "/order_id", "1 to 64 letters"}, BadOrder{R"("C-1")", R"("\u0000")", "/customer_id", "1 to 64"},
        BadOrder{R"("DE")", R"("de")", "/country", "two capital letters"}, BadOrder{R"("DE")", "null", "/country", "two capital letters"},
        BadOrder{R"("quantity":2)", R"("quantity":0)", "/lines/0/quantity", "whole number from 1 to 1000000"},
        BadOrder{R"("quantity":1)", R"("quantity":1.5)", "/lines/1/quantity", "whole number"},
        BadOrder{R"("quantity":2)", R"("quantity":18446744073709551615)", "/lines/0/quantity", "whole number"},
        BadOrder{R"("quantity":2)", R"("quantity":"2")", "/lines/0/quantity", "whole number"},
        BadOrder{R"("unit_price_cents":0)", R"("unit_price_cents":-1)", "/lines/1/unit_price_cents", "from 0 to 100000000"},
        BadOrder{R"({"sku":"ROPE","quantity":1,"unit_price_cents":0})", "3", "/lines/1", "must be an object"},
        BadOrder{R"("lines":[)", R"("lines":3,"other":[)", "/lines", "list of 1 to 100"},
        BadOrder{R"("lines":[)", R"("lines":[],"other":[)", "/lines", "list of 1 to 100"}, BadOrder{R"(]})", "", "", "is not JSON"},
        BadOrder{R"("O-1")", "\"\xff\"", "", "is not JSON"}));

TEST(Order, ReportsEveryWrongFieldAtOnce) {
  const auto order = parse_order(R"({"lines":[{"sku":""}]})");
  ASSERT_FALSE(order.has_value());
  std::vector<std::string> pointers;
  for (const auto& problem : order.error()) {
    pointers.push_back(problem.pointer);
  }
  std::ranges::sort(pointers);
  EXPECT_EQ(pointers,
            (std::vector<std::string>{"/country", "/customer_id", "/lines/0/quantity", "/lines/0/sku", "/lines/0/unit_price_cents", "/order_id"}));
}

TEST(Order, WhatIsNoObjectIsRefused) {
  for (const auto* text : {"", "[]", "3", "null", "\"x\""}) {
    EXPECT_FALSE(parse_order(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_order(std::string(100'000, '[')).has_value());
}

}  // namespace
}  // namespace outrigger::orders
