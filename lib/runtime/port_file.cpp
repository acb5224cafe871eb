#include "lib/runtime/port_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <format>
#include <string>
#include <system_error>

namespace outrigger {

Result<void> write_port_file(const std::filesystem::path& file, const std::vector<std::pair<std::string_view, std::uint16_t>>& ports) {
  if (file.empty()) {
    return {};
  }
  std::string text = "{";
  for (const auto& [name, port] : ports) {
    text += std::format("{}\"{}\":{}", text.size() > 1 ? "," : "", name, port);
  }
  text += "}\n";
  const auto beside = file.string() + std::format(".{}.tmp", getpid());
  const auto failed = [&](std::string_view what) {
    const auto reason = std::format("cannot {} the port file: {}", what, std::generic_category().message(errno));
    unlink(beside.c_str());
    return fail(ErrorCode::kUnavailable, reason, file.string());
  };
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    return failed("create");
  }
  const bool is_written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  if (!is_written) {
    const auto problem = failed("write");
    close(fd);
    return problem;
  }
  close(fd);
  if (std::rename(beside.c_str(), file.c_str()) != 0) {
    return failed("rename");
  }
  return {};
}

}  // namespace outrigger
