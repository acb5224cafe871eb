#include "lib/runtime/lifecycle.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "lib/runtime/error.h"

namespace outrigger {

StopSignal::StopSignal(std::initializer_list<int> more) {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  for (const int signal : more) {
    sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) {
    impossible("signalfd", std::generic_category().message(errno));
  }
}

StopSignal::~StopSignal() { close(signal_fd_); }

int StopSignal::wait() {
  for (;;) {
    if (const auto signal = wait_for(std::chrono::hours{24})) {
      return *signal;
    }
  }
}

std::optional<int> StopSignal::wait_for(std::chrono::milliseconds timeout) {
  pollfd poll_fd{.fd = signal_fd_, .events = POLLIN, .revents = 0};
  if (poll(&poll_fd, 1, static_cast<int>(timeout.count())) <= 0) {
    return std::nullopt;
  }
  signalfd_siginfo info{};
  if (read(signal_fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return static_cast<int>(info.ssi_signo);
}

}  // namespace outrigger
