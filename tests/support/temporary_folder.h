#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace outrigger::testing {

/// A new empty folder that goes with the object.
class TemporaryFolder final {
 public:
  TemporaryFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "outrigger-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      std::abort();
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace outrigger::testing
