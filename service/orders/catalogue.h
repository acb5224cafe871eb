#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::orders {

struct Product {
  std::string sku;
  std::string name;
  std::int64_t stock = 0;
};

struct Carrier {
  std::string name;
  std::vector<std::string> countries;
};

struct Customer {
  std::string id;
  std::int64_t credit_limit_cents = 0;
};

/// What the participants of the order example know before the first order; each copies its part into its database once.
///
///     apiVersion: outrigger/v1
///     kind: OrderCatalogue
///     spec:
///       products: [{sku: PADDLE-OAK, name: Oak paddle, stock: 5000}]
///       carriers: [{name: Harbour Freight, countries: [DE, DK]}]
///       customers: [{id: C-1001, creditLimitCents: 5000000}]
///       defaultCreditLimitCents: 1000000     # of customers that are not listed
struct Catalogue {
  std::vector<Product> products;
  std::vector<Carrier> carriers;
  std::vector<Customer> customers;
  std::int64_t default_credit_limit_cents = 0;
};

/// Errors: kNotFound, and kInvalidArgument with every problem as file:line:column.
[[nodiscard]] Result<Catalogue> load_catalogue(const std::filesystem::path& file);

}  // namespace outrigger::orders
