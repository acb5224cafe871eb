// The floor: one epoll loop a CPU that answers every blank line with a constant, without parsing, limits or clocks. Prints its
// port, ends on SIGTERM.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/runtime/cpu.h"
#include "lib/runtime/lifecycle.h"

namespace {

constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 15\r\n\r\n{\"status\":\"ok\"}";

int listen_on(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(socket, 4096) != 0) {
    std::perror("bare_epoll_server");
    std::exit(1);
  }
  return socket;
}

// Buffer and answers are the loop's: nothing is cleared or allocated for a request.
void answer(int socket, std::array<char, 65536>& buffer, std::string& answers) {
  const auto size = ::recv(socket, buffer.data(), buffer.size(), 0);
  if (size <= 0) {
    ::close(socket);
    return;
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
  answers.clear();
  for (auto at = bytes.find("\r\n\r\n"); at != std::string_view::npos; at = bytes.find("\r\n\r\n", at + 4)) {
    answers += kAnswer;
  }
  [[maybe_unused]] const auto sent = ::send(socket, answers.data(), answers.size(), MSG_NOSIGNAL);
}

void serve(int listener) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  const auto watch = [epoll](int socket) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
  };
  watch(listener);
  std::array<epoll_event, 256> events{};
  std::array<char, 65536> buffer{};
  std::string answers;
  while (true) {
    const int count = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int socket = events[static_cast<std::size_t>(i)].data.fd;
      if (socket != listener) {
        answer(socket, buffer, answers);
        continue;
      }
      const int accepted = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      const int on = 1;
      if (accepted >= 0) {
        ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(accepted);
      }
    }
  }
}

}  // namespace

int main() {
  outrigger::StopSignal stop;
  const int first = listen_on(0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(first, reinterpret_cast<sockaddr*>(&address), &size);
  const auto port = ntohs(address.sin_port);
  std::vector<int> listeners{first};
  while (listeners.size() < outrigger::available_cpus()) {
    listeners.push_back(listen_on(port));
  }
  std::vector<std::thread> threads;
  for (const int listener : listeners) {
    threads.emplace_back(serve, listener);
  }
  std::printf("%u\n", static_cast<unsigned>(port));
  std::fflush(stdout);
  stop.wait();
  std::_Exit(0);  // the loops know no end
}
