#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace outrigger::http {

/// A server that answers exactly the bytes it is told, so that tests can be as wrong as any upstream. Waits end after 5 s.
class SocketServer final {
 public:
  class Connection final {
   public:
    explicit Connection(int socket) : socket_(socket) {}
    ~Connection() { close(); }
    Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
    Connection& operator=(Connection&&) = delete;

    void close() {
      if (socket_ >= 0) {
        ::close(std::exchange(socket_, -1));
      }
    }

    void send(std::string_view bytes) {
      while (!bytes.empty()) {
        const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) {
          return;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      }
    }

    /// Sends zeros until the client has taken none for half a second, or so many; how many it took.
    std::size_t send_what_fits(std::size_t most) {
      const std::string zeros(std::size_t{64} << 10U, '0');
      std::size_t taken = 0;
      pollfd writable{.fd = socket_, .events = POLLOUT, .revents = 0};
      while (taken < most && ::poll(&writable, 1, 500) == 1) {
        const auto sent = ::send(socket_, zeros.data(), std::min(zeros.size(), most - taken), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) {
          break;
        }
        taken += static_cast<std::size_t>(sent);
      }
      return taken;
    }

    /// Head and body of one request with at most a Content-Length; what came when it ends early.
    std::string read_request() {
      std::string request;
      while (true) {
        const auto head_end = request.find("\r\n\r\n");
        if (head_end != std::string::npos) {
          const auto length = request.find("Content-Length: ");
          const auto size = length < head_end ? std::stoul(request.substr(length + 16)) : 0;
          if (request.size() >= head_end + 4 + size) {
            return request;
          }
        }
        pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
        std::array<char, 4096> buffer{};
        if (::poll(&readable, 1, 5'000) != 1) {
          return request;
        }
        const auto received = ::recv(socket_, buffer.data(), buffer.size(), 0);
        if (received <= 0) {
          return request;
        }
        request.append(buffer.data(), static_cast<std::size_t>(received));
      }
    }

   private:
    int socket_;
  };

  SocketServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(socket_, 16);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~SocketServer() { ::close(socket_); }
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  Connection accept() {
    pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
    ::poll(&readable, 1, 5'000);
    return Connection(readable.revents != 0 ? ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC) : -1);
  }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

}  // namespace outrigger::http
