#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace outrigger::participants {

/// Every setting of outrigger-participants; keys, bounds and help are in settings.cpp.
struct ParticipantsSettings {
  std::string operations_address = "127.0.0.1";
  std::uint16_t operations_port = 9902;
  std::filesystem::path port_file;

  std::filesystem::path data_dir = "/var/lib/outrigger/participants";
  std::filesystem::path catalogue = "/usr/local/share/outrigger/catalogue.yaml";
  std::vector<std::string> participants{"inventory", "logistics", "invoicing"};
  std::string instance;  ///< default: the host's name

  std::vector<std::string> kafka_bootstrap;
  bool kafka_create_topics = false;
  std::size_t batch_limit = 64;

  std::chrono::milliseconds inbox_retention{std::chrono::days(30)};
  std::chrono::milliseconds participant_latency{0};
  double participant_failure_rate = 0;
  std::uint64_t participant_seed = 1;

  std::string log_level = "info";
};

/// Fills them from the command line and the file that --config names. An exit code: end with it; its text is printed.
[[nodiscard]] std::optional<int> read_settings(ParticipantsSettings& settings, int argc, const char* const* argv);

}  // namespace outrigger::participants
