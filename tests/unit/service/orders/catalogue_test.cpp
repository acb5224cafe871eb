#include "service/orders/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/service/orders/fixture.h"

namespace outrigger::orders {
namespace {

using ::testing::HasSubstr;

class CatalogueTest : public FolderTest {
 protected:
  Result<Catalogue> load(std::string_view yaml) {
    std::ofstream(folder_ / "c.yaml") << yaml;
    return load_catalogue(folder_ / "c.yaml");
  }
};

TEST_F(CatalogueTest, TheExampleLoads) {
  const auto catalogue = load_catalogue(std::filesystem::path(std::getenv("OUTRIGGER_SOURCE_DIR")) / "examples" / "catalogue.yaml");
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().to_string();
  EXPECT_GE(catalogue->products.size(), 10U);
  EXPECT_THAT(catalogue->carriers.at(0).countries, ::testing::Contains("NO")) << "Norway is a country, not a boolean";
  EXPECT_GT(catalogue->default_credit_limit_cents, 0);
}

TEST_F(CatalogueTest, ReportsEveryProblemWithItsLine) {
  const auto catalogue = load(
      "apiVersion: outrigger/v1\nkind: OrderCatalogue\nspec:\n  products:\n    - {sku: A, stock: -1}\n    - {sku: A, stok: 1}\n  carriers: 3\n  "
      "customers: []\n");
  ASSERT_FALSE(catalogue.has_value());
  const auto& message = catalogue.error().message;
  EXPECT_THAT(message, HasSubstr("c.yaml:5:"));
  EXPECT_THAT(message, HasSubstr("'A' is listed twice"));
  EXPECT_THAT(message, HasSubstr("stok"));
  EXPECT_THAT(message, HasSubstr("carriers must be a list"));
}

TEST_F(CatalogueTest, AMissingFileIsNamed) {
  const auto catalogue = load_catalogue(folder_ / "none.yaml");
  ASSERT_FALSE(catalogue.has_value());
  EXPECT_THAT(catalogue.error().to_string(), HasSubstr("none.yaml"));
}

}  // namespace
}  // namespace outrigger::orders
