#include "lib/http/internal/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <format>

namespace outrigger::http::internal {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  void set_port(std::uint16_t port) {
    if (storage.ss_family == AF_INET6) {
      reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
    } else {
      reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
    }
  }
};

Result<SocketAddress> parse(const std::string& address) {
  SocketAddress result;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    result.size = sizeof(sockaddr_in);
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    result.size = sizeof(sockaddr_in6);
  } else {
    return fail(ErrorCode::kInvalidArgument, std::format("'{}' is not an IP address: give a literal such as 127.0.0.1, 0.0.0.0 or ::", address));
  }
  return result;
}

std::unexpected<Error> bind_error(int error, const std::string& where) {
  const std::string reason = std::generic_category().message(error);
  switch (error) {
    case EADDRINUSE: return fail(ErrorCode::kUnavailable, "another socket listens there: choose another port, or end the process that has it", where);
    case EADDRNOTAVAIL: return fail(ErrorCode::kInvalidArgument, "this host has no such address", where);
    case EACCES: return fail(ErrorCode::kPermissionDenied, "binding a port below 1024 needs CAP_NET_BIND_SERVICE", where);
    case EMFILE:
    case ENFILE: return fail(ErrorCode::kResourceExhausted, std::format("no file descriptor is free: {}", reason), where);
    default: return fail(ErrorCode::kInternal, std::format("the socket cannot be opened: {}", reason), where);
  }
}

Result<int> open_socket(const SocketAddress& address, bool shared, const std::string& where) {
  const int socket = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (socket < 0) {
    return bind_error(errno, where);
  }
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (shared) {
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  }
  if (address.storage.ss_family == AF_INET6) {
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
    const int error = errno;
    ::close(socket);
    return bind_error(error, where);
  }
  return socket;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

Result<Listeners> open_listeners(const std::string& address, std::uint16_t port, unsigned count) {
  auto where = parse(address);
  if (!where) {
    return std::unexpected(where.error());
  }
  Listeners result{.sockets = {}, .port = port};
  const auto give_up = [&result](Error error) -> std::unexpected<Error> {
    for (const int socket : result.sockets) {
      ::close(socket);
    }
    return std::unexpected(std::move(error));
  };
  const auto text = std::format("{}:{}", address, port);
  where->set_port(port);
  if (port != 0) {
    // Without SO_REUSEPORT the kernel says when somebody else listens there.
    const auto probe = open_socket(*where, false, text);
    if (!probe) {
      return std::unexpected(probe.error());
    }
    ::close(*probe);
  }
  for (unsigned i = 0; i < count; ++i) {
    const auto socket = open_socket(*where, true, text);
    if (!socket) {
      return give_up(socket.error());
    }
    result.sockets.push_back(*socket);
    result.port = port_of(*socket);
    where->set_port(result.port);
  }
  for (const int socket : result.sockets) {
    if (::listen(socket, kBacklog) != 0) {
      return give_up(bind_error(errno, text).error());
    }
  }
  return result;
}

int family_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  return bound.ss_family;
}

std::string format_address(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return std::format("{}:{}", text.data(), ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
    return std::format("{}:{}", text.data(), ntohs(v6.sin6_port));
  }
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return std::format("[{}]:{}", text.data(), ntohs(v6.sin6_port));
}

}  // namespace outrigger::http::internal
