#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/kafka/group_metadata.h"
#include "lib/kafka/record.h"
#include "lib/runtime/error.h"

namespace outrigger::kafka {

/// Why a transaction did not commit for certain. They differ in what the caller must do.
enum class WriteFailure : std::uint8_t {
  kFenced,          ///< the group has a newer generation: nothing was written, the partitions are another's
  kInstanceFenced,  ///< another member (or this process's own, joining again) has this static instance id: nothing was written
  kSuperseded,      ///< a newer producer has this transactional id, or the broker gave up this one's transaction; nothing was written
  kUnknown,         ///< it may have been committed or not: destroy this producer, make a new one, read what is there
};

struct WriteError {
  WriteFailure failure = WriteFailure::kUnknown;
  std::string message;
};

struct TransactionalSettings {
  ClientSettings client;
  std::string transactional_id;                           ///< stable over restarts: a new incarnation ends its predecessor's transaction
  std::chrono::milliseconds transaction_timeout{10'000};  ///< after it the broker aborts; bounds every wait here
};

/// Writes records and consumer positions as one transaction (KIP-98, KIP-447). Used by one thread.
///
/// After any error the producer is spent: write() again ends the process.
class TransactionalProducer final {
 public:
  /// Connects and fences older incarnations, whose open transaction is ended when this returns.
  /// Errors: kUnavailable, kInvalidArgument (settings).
  [[nodiscard]] static Result<std::unique_ptr<TransactionalProducer>> open(const TransactionalSettings& settings);
  ~TransactionalProducer();

  /// `positions` must not be empty: offsets that are sent with `group` are what carries the fence, and a transaction without
  /// them would fence nobody. Returns the offsets of the records, in order.
  [[nodiscard]] std::expected<std::vector<std::int64_t>, WriteError> write(std::span<const OutgoingRecord> records,
                                                                           std::span<const Position> positions, const GroupMetadata& group);

  /// Broken by an error: only good for destruction.
  [[nodiscard]] bool is_spent() const;

 private:
  class Impl;
  explicit TransactionalProducer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::kafka
