#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "service/http_participants/http_transport.h"

namespace outrigger::service {

/// Every setting of outrigger-service; keys, bounds and help are in settings.cpp.
struct ServiceSettings {
  std::string http_address = "127.0.0.1";
  std::uint16_t http_port = 8000;
  std::string operations_address = "127.0.0.1";
  std::uint16_t operations_port = 9900;
  std::filesystem::path port_file;
  unsigned http_loops = 0;
  std::size_t max_connections = 10'000;
  std::size_t max_body_bytes = 256 * 1024;
  std::chrono::milliseconds max_wait{60'000};
  std::size_t max_event_streams = 1'000;
  std::chrono::milliseconds event_heartbeat{15'000};

  std::filesystem::path data_dir = "/var/lib/outrigger/data";
  std::filesystem::path definitions = "/usr/local/share/outrigger/definitions";
  std::chrono::milliseconds definitions_interval{5'000};
  std::filesystem::path catalogue = "/usr/local/share/outrigger/catalogue.yaml";
  std::string instance;  ///< default: the host's name
  unsigned lanes = 0;
  std::chrono::milliseconds retention{std::chrono::days(7)};

  std::string journal = "embedded";
  std::uint32_t partitions = 64;
  std::vector<std::string> kafka_bootstrap;
  std::string kafka_topic_generation = "g1";
  bool kafka_create_topics = false;

  std::chrono::milliseconds inbox_retention{std::chrono::days(30)};
  std::chrono::milliseconds participant_latency{0};
  double participant_failure_rate = 0;
  std::uint64_t participant_seed = 1;
  http_participants::Settings http_participants;

  std::chrono::milliseconds drain_delay{1'000};
  std::chrono::milliseconds drain_timeout{20'000};
  std::string log_level = "info";

  [[nodiscard]] bool uses_kafka() const { return journal == "kafka"; }
};

/// Fills them from the command line and the file that --config names. An exit code: end with it; its text is printed.
[[nodiscard]] std::optional<int> read_settings(ServiceSettings& settings, int argc, const char* const* argv);

}  // namespace outrigger::service
