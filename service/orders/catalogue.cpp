#include "service/orders/catalogue.h"

#include <format>
#include <set>

#include "lib/yaml/node.h"
#include "lib/yaml/reader.h"

namespace outrigger::orders {
namespace {

constexpr std::int64_t kMostStock = 1'000'000'000;
constexpr std::int64_t kMostCents = 1'000'000'000'000;

// Calls `read` for each item of a sequence; `key` names what the items are told apart by.
template <class Read>
void each(yaml::Mapping& spec, yaml::Problems& problems, std::string_view list, std::string_view key, Read read) {
  const auto* node = spec.require(list);
  if (node == nullptr) {
    return;
  }
  if (node->kind != yaml::Node::Kind::kSequence) {
    spec.problem(*node, std::format("{} must be a list", list));
    return;
  }
  std::set<std::string> seen;
  for (const auto& item : node->items) {
    yaml::Mapping mapping(item, problems, std::string(list));
    auto name = mapping.require_text(key);
    if (!name.empty() && !seen.insert(name).second) {
      mapping.problem(item, std::format("{} '{}' is listed twice: remove one", key, name));
    }
    read(std::move(name), mapping);
    mapping.finish();
  }
}

}  // namespace

Result<Catalogue> load_catalogue(const std::filesystem::path& file) {
  const auto document = yaml::parse_file(file.string());
  if (!document) {
    return std::unexpected(document.error());
  }
  yaml::Problems problems;
  Catalogue catalogue;
  yaml::Mapping root(*document, problems);
  (void)root.get_choice("apiVersion", "", {"outrigger/v1"});
  (void)root.get_choice("kind", "", {"OrderCatalogue"});
  if (const auto* node = root.require("spec")) {
    yaml::Mapping spec(*node, problems, "spec");
    each(spec, problems, "products", "sku", [&](std::string sku, yaml::Mapping& item) {
      catalogue.products.push_back({.sku = std::move(sku), .name = item.get_text("name"), .stock = item.get_integer("stock", 0, 0, kMostStock)});
    });
    each(spec, problems, "carriers", "name", [&](std::string name, yaml::Mapping& item) {
      catalogue.carriers.push_back({.name = std::move(name), .countries = item.get_texts("countries")});
    });
    each(spec, problems, "customers", "id", [&](std::string id, yaml::Mapping& item) {
      catalogue.customers.push_back({.id = std::move(id), .credit_limit_cents = item.get_integer("creditLimitCents", 0, 0, kMostCents)});
    });
    catalogue.default_credit_limit_cents = spec.get_integer("defaultCreditLimitCents", 0, 0, kMostCents);
    spec.finish();
  }
  root.finish();
  if (const auto result = problems.result(); !result) {
    return std::unexpected(result.error());
  }
  return catalogue;
}

}  // namespace outrigger::orders
