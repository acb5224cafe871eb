#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "lib/runtime/error.h"

namespace outrigger::sidecar {

/// Every setting of outrigger-sidecar; keys, bounds and help are in settings.cpp.
struct SidecarSettings {
  std::string http_address = "127.0.0.1";
  std::uint16_t http_port = 8080;
  std::string upstream = "127.0.0.1:8000";
  std::size_t upstream_connections = 128;
  std::size_t upstream_waiting = 1'024;
  std::chrono::milliseconds upstream_stall{60'000};
  std::chrono::milliseconds request_timeout{90'000};
  std::string health_address = "127.0.0.1";
  std::uint16_t health_port = 9901;
  std::filesystem::path admin_socket = "/run/outrigger/admin.sock";
  std::filesystem::path port_file;
  unsigned http_loops = 0;
  std::size_t max_connections = 10'000;
  std::size_t max_body_bytes = 4U << 20U;

  bool faults_enabled = false;
  std::size_t max_faults = 32;
  std::chrono::milliseconds max_fault_ttl{std::chrono::minutes{10}};
  std::chrono::milliseconds max_fault_delay{std::chrono::minutes{1}};

  std::chrono::milliseconds drain_delay{1'000};
  std::chrono::milliseconds drain_timeout{20'000};
  std::string log_level = "info";
};

/// An address and port to connect to.
struct Endpoint {
  std::string address;  ///< IPv4 or IPv6 literal
  std::uint16_t port = 0;
};

/// Reads "127.0.0.1:8000", "[::1]:8000" or "localhost:8000". No name is looked up: the application is beside the sidecar.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);

/// Fills them from the command line and the file that --config names. An exit code: end with it; its text is printed.
[[nodiscard]] std::optional<int> read_settings(SidecarSettings& settings, int argc, const char* const* argv);

}  // namespace outrigger::sidecar
