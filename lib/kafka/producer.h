#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/kafka/record.h"
#include "lib/runtime/error.h"

namespace outrigger::kafka {

/// An idempotent producer, acks=all, linger 5 ms: every record is there once and in order when send() says so. Used by one thread.
/// After an error make a new one: what was in flight has been given up.
class Producer final {
 public:
  /// Does not connect: errors are of the settings (kInvalidArgument).
  [[nodiscard]] static Result<std::unique_ptr<Producer>> create(const ClientSettings& settings);
  ~Producer();

  /// Sends all and waits for every delivery report; returns the offsets, in order.
  /// Errors: kUnavailable or kDeadlineExceeded (some may have been written: send all again), kInvalidArgument (no such topic or
  /// partition, record too large), kInternal (the producer is broken for good: make a new one).
  [[nodiscard]] Result<std::vector<std::int64_t>> send(std::span<const OutgoingRecord> records, std::chrono::milliseconds timeout);

 private:
  class Impl;
  explicit Producer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::kafka
