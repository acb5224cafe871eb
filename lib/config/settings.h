#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::config {

/// What came of reading the settings: go on (no exit code), or print `text` and end.
struct Reading {
  std::optional<int> exit_code;  ///< 0: help or the like was asked for, then `text` belongs on stdout; else an error for stderr
  std::string text;
};

/// The settings of one program, each declared once: key, variable with its default, bounds and help.
///
/// A key is given as a flag (`--http-port 8000`), or in the YAML file that `--config` names (`http-port: 8000`); a flag wins.
/// Unknown keys, repeated keys and values out of bounds are errors that name file:line:column and the remedy.
/// Adds --help, --version, --config, --check-config and --print-config. Variables must outlive read(). Not thread-safe.
/// Two settings with one key end the process: a programming error.
class Settings final {
 public:
  Settings(std::string program, std::string description, std::string version);
  ~Settings();
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  void text(std::string_view key, std::string& value, std::string_view help);
  /// One of `choices`.
  void choice(std::string_view key, std::string& value, std::vector<std::string> choices, std::string_view help);
  void path(std::string_view key, std::filesystem::path& value, std::string_view help);
  /// `--key`, `--key=false`; in YAML true or false.
  void flag(std::string_view key, bool& value, std::string_view help);
  /// 0 to 65535; 0 lets the kernel choose.
  void port(std::string_view key, std::uint16_t& value, std::string_view help);
  void real(std::string_view key, double& value, double min, double max, std::string_view help);
  /// `--key a,b` or a YAML sequence.
  void list(std::string_view key, std::vector<std::string>& value, std::string_view help);

  template <std::integral T>
  void number(std::string_view key, T& value, T min, T max, std::string_view help) {
    add_number(
        key, static_cast<std::int64_t>(value), static_cast<std::int64_t>(min), static_cast<std::int64_t>(max),
        [&value](std::int64_t read) { value = static_cast<T>(read); }, help);
  }

  /// Durations are written as in parse_duration(): 300ms, 1m30s.
  template <class Rep, class Period>
  void duration(std::string_view key, std::chrono::duration<Rep, Period>& value, std::chrono::duration<Rep, Period> min,
                std::chrono::duration<Rep, Period> max, std::string_view help) {
    using Duration = std::chrono::duration<Rep, Period>;
    add_duration(
        key, value, min, max, Duration{1}, [&value](std::chrono::nanoseconds read) { value = std::chrono::duration_cast<Duration>(read); }, help);
  }

  /// Reads `arguments` (without the program's name), then the file for what they leave open.
  [[nodiscard]] Reading read(const std::vector<std::string>& arguments);

  /// The same for main(): prints the text where it belongs; ends with the exit code when there is one.
  [[nodiscard]] std::optional<int> read(int argc, const char* const* argv);

  /// The effective settings as YAML, each with where it came from; for --print-config and the log.
  [[nodiscard]] std::string effective() const;

 private:
  struct Entry;
  struct Impl;
  void add(Entry entry);
  void add_number(std::string_view key, std::int64_t value, std::int64_t min, std::int64_t max, std::function<void(std::int64_t)> store,
                  std::string_view help);
  void add_duration(std::string_view key, std::chrono::nanoseconds value, std::chrono::nanoseconds min, std::chrono::nanoseconds max,
                    std::chrono::nanoseconds resolution, std::function<void(std::chrono::nanoseconds)> store, std::string_view help);
  [[nodiscard]] Result<void> read_file(const std::string& file);

  std::unique_ptr<Impl> impl_;
};

}  // namespace outrigger::config
