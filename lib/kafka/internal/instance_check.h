#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/kafka/admin.h"
#include "lib/kafka/record.h"
#include "lib/runtime/clock.h"

namespace outrigger::kafka::internal {

enum class InstanceHolder : std::uint8_t { kUnknown, kItself, kAnother };

/// Whose the instance name is, for a client whose last member id is `own_id` (empty: it is joining and has not been told yet).
[[nodiscard]] InstanceHolder holder_of(std::string_view instance, std::string_view own_id, std::span<const GroupMember> members);

/// After a static member was fenced: by another process of its instance name, or by itself?
///
/// A client that has lost its coordinator for a session joins again, and the broker gives the instance a new member id. A request that
/// still carries the old one is then refused as fenced, as if another process had come. The group tells which member has the name.
/// Not thread-safe.
class InstanceCheck final {
 public:
  InstanceCheck(ClientSettings settings, std::string group, std::string instance)
      : settings_(std::move(settings)), group_(std::move(group)), instance_(std::move(instance)) {}

  /// Asks the group; kUnknown: no answer yet, ask again. Blocks for at most `timeout`. Who cannot be asked for a minute is another.
  [[nodiscard]] InstanceHolder ask(std::string_view own_id, std::chrono::milliseconds timeout);

 private:
  ClientSettings settings_;
  std::string group_;
  std::string instance_;
  std::unique_ptr<Admin> admin_;
  MonotonicTime first_asked_;
};

}  // namespace outrigger::kafka::internal
