#include "tests/integration/kafka/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "lib/runtime/ids.h"

namespace outrigger::testing {

kafka::ClientSettings kafka_client() {
  const char* bootstrap = std::getenv("OUTRIGGER_KAFKA_BOOTSTRAP");  // NOLINT(concurrency-mt-unsafe): nobody writes the environment
  if (bootstrap == nullptr) {
    ADD_FAILURE() << "OUTRIGGER_KAFKA_BOOTSTRAP is not set: run ./dev test kafka, which starts brokers";
    return {.bootstrap = "127.0.0.1:1", .client_id = "test", .extra = {}};
  }
  return {.bootstrap = bootstrap, .client_id = "test", .extra = {}};
}

int kafka_brokers() { return static_cast<int>(std::ranges::count(kafka_client().bootstrap, ',')) + 1; }

std::string unique_name(const std::string& stem) {
  auto id = make_ulid();
  std::ranges::transform(id, id.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return stem + "-" + id;
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return true;
}

}  // namespace outrigger::testing
