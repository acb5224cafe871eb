#include "chaos/runner/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <format>
#include <system_error>

#include <nlohmann/json.hpp>

#include "chaos/runner/replay.h"

namespace outrigger::chaos {
namespace {

std::string reason() { return std::generic_category().message(errno); }

std::unexpected<Error> io_failure(std::string_view what, const std::string& path) {
  return fail(ErrorCode::kUnavailable, std::format("journal: cannot {}: {}", what, reason()), path);
}

/// A new file's name must be on the disk too.
bool sync_folder(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0) {
    close(fd);
  }
  return synced;
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n == 0) {
      return text;
    }
    if (n < 0 && errno != EINTR) {
      return io_failure("read", path);
    }
    text.append(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
    if (text.size() > kLargestJournalBytes) {
      return fail(ErrorCode::kInvalidArgument, "journal: larger than any run writes: is it another file?", path);
    }
  }
}

}  // namespace

Journal::Journal(int fd, std::string path, std::string run_id, WallClock clock)
    : fd_(fd), path_(std::move(path)), run_id_(std::move(run_id)), clock_(std::move(clock)) {}

Journal::~Journal() { close(fd_); }

Result<std::unique_ptr<Journal>> Journal::create(const std::string& path, std::string run_id, WallClock clock) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0 && errno == EEXIST) {
    return fail(ErrorCode::kAlreadyExists, "journal: the file exists: run `outrigger chaos recover` on it if its run died, and give another name",
                path);
  }
  if (fd < 0) {
    return io_failure("create", path);
  }
  std::unique_ptr<Journal> journal(new Journal(fd, path, std::move(run_id), std::move(clock)));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !sync_folder(path)) {
    return io_failure("lock and sync", path);
  }
  return journal;
}

Result<std::unique_ptr<Journal>> Journal::reopen(const std::string& path, WallClock clock) {
  const int fd = open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (fd < 0) {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument, std::format("journal: cannot open: {}", reason()), path);
  }
  std::unique_ptr<Journal> journal(new Journal(fd, path, {}, std::move(clock)));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kFailedPrecondition, "journal: its run still goes on: stop that with SIGINT, it cleans up by itself", path);
  }
  auto text = read_all(fd, path);
  if (!text) {
    return std::unexpected(text.error());
  }
  auto state = replay(*text, path);
  if (!state) {
    return std::unexpected(state.error());
  }
  text->resize(state->whole_bytes);
  if (ftruncate(fd, static_cast<off_t>(state->whole_bytes)) != 0) {
    return io_failure("cut the torn last line off", path);
  }
  journal->earlier_ = std::move(*text);
  journal->run_id_ = state->run_id;
  journal->sequence_ = state->last_sequence;
  return journal;
}

Result<void> Journal::append(std::string_view event, const nlohmann::ordered_json& fields) {
  nlohmann::ordered_json entry{{"seq", ++sequence_}, {"at", std::format("{:%FT%TZ}", clock_())}, {"run", run_id_}, {"event", event}};
  entry.update(fields);
  const std::string line = entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t n = write(fd_, line.data() + written, line.size() - written);
    if (n < 0 && errno != EINTR) {
      return io_failure("write", path_);
    }
    written += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  if (fdatasync(fd_) != 0) {
    return io_failure("sync", path_);
  }
  return {};
}

void Journal::note(std::string_view event, const nlohmann::ordered_json& fields) {
  if (!append(event, fields)) {
    ++lost_;
  }
}

}  // namespace outrigger::chaos
