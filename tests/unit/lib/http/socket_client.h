#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace outrigger::http {

/// A client that sends exactly the bytes it is told, so that tests can be as wrong as attackers. Every wait has a deadline.
class SocketClient final {
 public:
  explicit SocketClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~SocketClient() { close(); }
  SocketClient(SocketClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), is_connected_(other.is_connected_), received_(std::move(other.received_)) {}
  SocketClient& operator=(SocketClient&&) = delete;

  [[nodiscard]] bool is_connected() const { return is_connected_; }
  [[nodiscard]] int descriptor() const { return socket_; }

  void close() {
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
    }
  }

  /// Closes so that the peer gets a reset.
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void shut_down_sending() { ::shutdown(socket_, SHUT_WR); }

  /// One answer, head and body, by its Content-Length; nothing when the connection ends or 5 s pass before it is whole.
  std::optional<std::string> read_answer(bool has_body = true) {
    while (true) {
      const auto head_end = received_.find("\r\n\r\n");
      if (head_end != std::string::npos) {
        std::size_t size = head_end + 4;
        const auto length = received_.find("Content-Length: ");
        if (has_body && length < head_end) {
          size += std::stoul(received_.substr(length + 16));
        }
        if (received_.size() >= size) {
          auto answer = received_.substr(0, size);
          received_.erase(0, size);
          return answer;
        }
      }
      if (!receive_some()) {
        return std::nullopt;
      }
    }
  }

  /// Exactly so many bytes; fewer when the connection ends or 5 s pass without any.
  std::string read_bytes(std::size_t count) {
    while (received_.size() < count && receive_some()) {
    }
    auto bytes = received_.substr(0, count);
    received_.erase(0, count);
    return bytes;
  }

  /// All until the server closes; nothing when it has not within 5 s.
  std::optional<std::string> read_to_end() {
    while (receive_some()) {
    }
    return has_ended_ ? std::optional(std::move(received_)) : std::nullopt;
  }

  /// Whether the connection ended with a reset, within 5 s.
  bool waits_for_reset() { return waits_for_end() && was_reset_; }

  /// Whether the server closed (or reset) within 5 s, whatever it sent before.
  bool waits_for_end() {
    while (receive_some()) {
    }
    return has_ended_;
  }

 private:
  bool receive_some() {
    pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, 5'000) != 1) {
      return false;
    }
    std::array<char, 65536> buffer{};
    const auto size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (size <= 0) {
      has_ended_ = true;
      was_reset_ = size < 0 && errno == ECONNRESET;
      return false;
    }
    received_.append(buffer.data(), static_cast<std::size_t>(size));
    return true;
  }

  int socket_;
  bool is_connected_ = false;
  bool has_ended_ = false;
  bool was_reset_ = false;
  std::string received_;
};

/// The status of an answer; 0 when there is none.
inline int status_of(const std::optional<std::string>& answer) {
  return answer && answer->starts_with("HTTP/1.1 ") ? std::stoi(answer->substr(9)) : 0;
}

inline std::string body_of(const std::optional<std::string>& answer) {
  const auto head_end = answer ? answer->find("\r\n\r\n") : std::string::npos;
  return head_end == std::string::npos ? "" : answer->substr(head_end + 4);
}

/// Polls until the condition holds; false after 5 s.
template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    ::poll(nullptr, 0, 1);
  }
  return true;
}

}  // namespace outrigger::http
