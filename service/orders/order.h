#pragma once

#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lib/participant/message.h"

namespace outrigger::orders {

struct OrderLine {
  std::string sku;
  std::int64_t quantity = 0;
  std::int64_t unit_price_cents = 0;
};

/// An order as clients send it. Money is whole cents.
struct Order {
  std::string order_id;
  std::string customer_id;
  std::string country;  ///< ISO 3166-1 alpha-2, such as "DE"
  std::vector<OrderLine> lines;

  [[nodiscard]] std::int64_t total_cents() const;  ///< cannot overflow within the limits below
};

inline constexpr std::size_t kMaxIdLength = 64;
inline constexpr std::size_t kMaxLines = 100;
inline constexpr std::int64_t kMaxQuantity = 1'000'000;
inline constexpr std::int64_t kMaxUnitPriceCents = 100'000'000;

/// What is wrong with one field; `pointer` is its JSON Pointer (RFC 6901), such as "/lines/0/quantity".
struct FieldProblem {
  std::string pointer;
  std::string detail;
};

/// Reads an order and reports every field that is wrong, not only the first. Unknown fields are ignored. Pure.
[[nodiscard]] std::expected<Order, std::vector<FieldProblem>> read_order(const nlohmann::json& value);
[[nodiscard]] std::expected<Order, std::vector<FieldProblem>> parse_order(std::string_view json);

/// The order in a step's payload, {"input": order, …}. Errors: kInvalidArgument, naming the first wrong field.
[[nodiscard]] Result<Order> order_of(const participant::Command& command);

}  // namespace outrigger::orders
