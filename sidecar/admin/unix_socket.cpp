#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <format>
#include <system_error>
#include <utility>

#include "sidecar/admin/internal/unix_socket.h"

namespace outrigger::admin::internal {
namespace {

/// Whether somebody accepts connections there.
bool is_served(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) {
    return true;  // not known: rather refuse than cut somebody off
  }
  const bool has_answered = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
  close(probe);
  return has_answered;
}

}  // namespace

SocketClaim::~SocketClaim() {
  if (lock_fd_ >= 0) {
    close(lock_fd_);
  }
}

SocketClaim::SocketClaim(SocketClaim&& other) noexcept : lock_fd_(std::exchange(other.lock_fd_, -1)) {}

SocketClaim& SocketClaim::operator=(SocketClaim&& other) noexcept {
  std::swap(lock_fd_, other.lock_fd_);
  return *this;
}

Result<SocketClaim> SocketClaim::take(const std::filesystem::path& socket) {
  const std::string where = socket.string();
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (where.empty() || where.size() > kLongest) {
    return fail(ErrorCode::kInvalidArgument, std::format("a unix socket's path has 1 to {} bytes: choose a shorter one", kLongest), where);
  }
  const std::string lock = where + ".lock";
  SocketClaim claim;
  claim.lock_fd_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (claim.lock_fd_ < 0) {
    return fail(ErrorCode::kUnavailable,
                std::format("cannot be made: {}; make its folder and let this user write to it", std::system_category().message(errno)), lock);
  }
  if (flock(claim.lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kUnavailable, "another process serves this admin socket: stop it, or choose another path with --admin-socket", where);
  }
  struct stat status{};
  if (lstat(where.c_str(), &status) != 0) {
    return claim;  // nothing there
  }
  if (!S_ISSOCK(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, "is no socket and is left as it is: choose another path with --admin-socket", where);
  }
  if (is_served(socket)) {
    return fail(ErrorCode::kUnavailable, "another process serves this admin socket: stop it, or choose another path with --admin-socket", where);
  }
  unlink(where.c_str());
  return claim;
}

}  // namespace outrigger::admin::internal
