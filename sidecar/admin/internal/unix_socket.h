#pragma once

#include <filesystem>

#include "lib/runtime/error.h"

namespace outrigger::admin::internal {

/// The right to serve a unix socket's path: held by a lock beside it, so that two starting processes cannot both take it.
class SocketClaim final {
 public:
  SocketClaim() = default;
  ~SocketClaim();
  SocketClaim(SocketClaim&& other) noexcept;
  SocketClaim& operator=(SocketClaim&& other) noexcept;

  /// Removes the socket of a dead process. Errors: kUnavailable when a living one has it, kInvalidArgument for an unusable path.
  [[nodiscard]] static Result<SocketClaim> take(const std::filesystem::path& socket);

 private:
  int lock_fd_ = -1;
};

}  // namespace outrigger::admin::internal
