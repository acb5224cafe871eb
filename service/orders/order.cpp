#include "service/orders/order.h"

#include <algorithm>
#include <format>
#include <nlohmann/json.hpp>

namespace outrigger::orders {
namespace {

using nlohmann::json;

bool is_id_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':';
}

// Collects problems while it reads; what is wrong reads as an empty value.
class Reader {
 public:
  std::vector<FieldProblem> problems;

  std::string id(const json& object, const std::string& at, const char* field) {
    const auto* value = find(object, at, field);
    if (value == nullptr) {
      return {};
    }
    if (!value->is_string()) {
      return problem(at + "/" + field, std::format("must be a text, not {}", value->type_name()));
    }
    const auto& text = value->get_ref<const std::string&>();
    if (text.empty() || text.size() > kMaxIdLength || !std::ranges::all_of(text, is_id_character)) {
      return problem(at + "/" + field, std::format("must be 1 to {} letters, digits or - _ . :", kMaxIdLength));
    }
    return text;
  }

  std::string country(const json& object) {
    const auto* value = find(object, "", "country");
    if (value == nullptr) {
      return {};
    }
    const auto* text = value->get_ptr<const std::string*>();
    if (text == nullptr || text->size() != 2 || !std::ranges::all_of(*text, [](char c) { return c >= 'A' && c <= 'Z'; })) {
      return problem("/country", "must be an ISO 3166-1 code of two capital letters, such as \"DE\"");
    }
    return *text;
  }

  std::int64_t integer(const json& object, const std::string& at, const char* field, std::int64_t least, std::int64_t most) {
    const auto* value = find(object, at, field);
    if (value == nullptr) {
      return 0;
    }
    // Unsigned values beyond the signed range would turn negative when read as signed.
    const bool is_huge = value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    if (!value->is_number_integer() || is_huge || value->get<std::int64_t>() < least || value->get<std::int64_t>() > most) {
      problem(at + "/" + field, std::format("must be a whole number from {} to {}", least, most));
      return 0;
    }
    return value->get<std::int64_t>();
  }

  std::vector<OrderLine> lines(const json& object) {
    const auto* value = find(object, "", "lines");
    if (value == nullptr) {
      return {};
    }
    if (!value->is_array() || value->empty() || value->size() > kMaxLines) {
      problem("/lines", std::format("must be a list of 1 to {} lines", kMaxLines));
      return {};
    }
    std::vector<OrderLine> read;
    for (std::size_t i = 0; i < value->size(); ++i) {
      const auto& line = (*value)[i];
      const auto at = std::format("/lines/{}", i);
      if (!line.is_object()) {
        problem(at, R"(must be an object {"sku", "quantity", "unit_price_cents"})");
        continue;
      }
      read.push_back({.sku = id(line, at, "sku"),
                      .quantity = integer(line, at, "quantity", 1, kMaxQuantity),
                      .unit_price_cents = integer(line, at, "unit_price_cents", 0, kMaxUnitPriceCents)});
    }
    return read;
  }

 private:
  const json* find(const json& object, const std::string& at, const char* field) {
    const auto found = object.find(field);
    if (found == object.end()) {
      problem(at + "/" + field, "is missing");
      return nullptr;
    }
    return &*found;
  }

  std::string problem(std::string pointer, std::string detail) {
    problems.push_back({std::move(pointer), std::move(detail)});
    return {};
  }
};

}  // namespace

std::int64_t Order::total_cents() const {
  std::int64_t total = 0;
  for (const auto& line : lines) {
    total += line.quantity * line.unit_price_cents;
  }
  return total;
}

std::expected<Order, std::vector<FieldProblem>> read_order(const json& value) {
  if (!value.is_object()) {
    return std::unexpected(std::vector{FieldProblem{"", std::format("an order is a JSON object, not {}", value.type_name())}});
  }
  Reader reader;
  Order order{.order_id = reader.id(value, "", "order_id"),
              .customer_id = reader.id(value, "", "customer_id"),
              .country = reader.country(value),
              .lines = reader.lines(value)};
  if (!reader.problems.empty()) {
    return std::unexpected(std::move(reader.problems));
  }
  return order;
}

std::expected<Order, std::vector<FieldProblem>> parse_order(std::string_view text) {
  try {
    return read_order(json::parse(text));
  } catch (const json::exception& problem) {
    // Their messages begin with "[json.exception.parse_error.101] ".
    const std::string_view what = problem.what();
    const auto end = what.find("] ");
    return std::unexpected(
        std::vector{FieldProblem{"", std::format("is not JSON: {}", end == std::string_view::npos ? what : what.substr(end + 2))}});
  }
}

Result<Order> order_of(const participant::Command& command) {
  const auto payload = json::parse(command.payload, nullptr, /*allow_exceptions=*/false);
  const auto input = payload.is_object() ? payload.find("input") : payload.end();
  if (!payload.is_object() || input == payload.end()) {
    return fail(ErrorCode::kInvalidArgument, R"(the payload of a step is {"input": order, "outputs": {…}})");
  }
  auto order = read_order(*input);
  if (!order) {
    const auto& first = order.error().front();
    return fail(ErrorCode::kInvalidArgument, std::format("the input is not an order: {} {}", first.pointer, first.detail));
  }
  return *std::move(order);
}

}  // namespace outrigger::orders
