#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::http::internal {

inline constexpr int kBacklog = 4096;  ///< the kernel cuts it to net.core.somaxconn

struct Listeners {
  std::vector<int> sockets;  ///< one a loop, listening, non-blocking; the caller owns them
  std::uint16_t port = 0;
};

/// Opens `count` sockets on one address that share its connections (SO_REUSEPORT).
/// Errors: kInvalidArgument for what is no address of this host, kUnavailable when another socket listens there, even one
/// with SO_REUSEPORT that would let us in and take half of the connections, kPermissionDenied for a low port.
[[nodiscard]] Result<Listeners> open_listeners(const std::string& address, std::uint16_t port, unsigned count);

[[nodiscard]] int family_of(int socket);

/// "127.0.0.1:43210" or "[::1]:43210"; an IPv4 address that came through an IPv6 socket is written as IPv4.
[[nodiscard]] std::string format_address(const sockaddr_storage& address);

}  // namespace outrigger::http::internal
