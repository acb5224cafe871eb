#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "lib/kafka/record.h"

namespace outrigger::testing {

/// The brokers that `./dev test kafka` started. Fails the test when there are none.
[[nodiscard]] kafka::ClientSettings kafka_client();
/// How many brokers there are.
[[nodiscard]] int kafka_brokers();
/// A name that nothing else uses: "<stem>-<ulid>".
[[nodiscard]] std::string unique_name(const std::string& stem);
/// Polls a condition; false when it did not hold in time.
[[nodiscard]] bool eventually(const std::function<bool()>& condition, std::chrono::seconds within = std::chrono::seconds{30});

}  // namespace outrigger::testing
