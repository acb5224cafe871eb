#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <format>

#include "lib/participant/sqlite.h"
#include "service/orders/participant.h"

namespace outrigger::orders {

/// A folder of the running test's own, removed after it.
class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / std::format("orders_test.{}.{}", test->test_suite_name(), test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

inline Catalogue small_catalogue() {
  return {.products = {{.sku = "PADDLE", .name = "Paddle", .stock = 10}, {.sku = "ROPE", .name = "Rope", .stock = 5}},
          .carriers = {{.name = "Harbour", .countries = {"DE", "DK"}}},
          .customers = {{.id = "C1", .credit_limit_cents = 1'000}},
          .default_credit_limit_cents = 300};
}

/// A step's command whose payload holds the order.
inline participant::Command make_command(ParticipantKind kind, std::string saga, participant::Direction direction, std::string order) {
  static constexpr std::array<std::array<const char*, 2>, 3> kTypes{
      {{"ReserveInventory", "ReleaseInventory"}, {"ScheduleShipment", "CancelShipment"}, {"IssueInvoice", "VoidInvoice"}}};
  return {.saga_id = std::move(saga),
          .partition = 0,
          .step = std::string(name(kind)),
          .direction = direction,
          .attempt = 1,
          .type = kTypes.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(direction)),
          .destination = std::string(destination(kind)),
          .payload = std::format(R"({{"input":{},"outputs":{{}}}})", order),
          .deadline = {},
          .traceparent = {}};
}

inline std::string make_order(std::string_view lines, std::string_view country = "DE", std::string_view customer = "C1") {
  return std::format(R"({{"order_id":"O1","customer_id":"{}","country":"{}","lines":{}}})", customer, country, lines);
}

}  // namespace outrigger::orders
