#include "service/participants_program/settings.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "lib/config/settings.h"
#include "lib/runtime/lifecycle.h"

namespace outrigger::participants {
namespace {

using namespace std::chrono_literals;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "outrigger";
}

void declare(config::Settings& keys, ParticipantsSettings& settings) {
  keys.text("operations-address", settings.operations_address, "Address of /livez, /readyz and /metrics");
  keys.port("operations-port", settings.operations_port, "Port of /livez, /readyz and /metrics; 0: any free one, see --port-file");
  keys.path("port-file", settings.port_file, "Where to write the bound ports as JSON once commands are read");

  keys.path("data-dir", settings.data_dir, "Folder of the participants' databases; of one process alone");
  keys.path("catalogue", settings.catalogue, "Products, carriers and customers that new databases start with");
  keys.list("participants", settings.participants, "Which run here: inventory, logistics, invoicing");
  keys.text("instance", settings.instance, "Name of this instance, the same after a restart");

  keys.list("kafka-bootstrap", settings.kafka_bootstrap, "Kafka brokers, HOST:PORT,…");
  keys.flag("kafka-create-topics", settings.kafka_create_topics, "Make the command and dead-letter topics where they are missing");
  keys.number<std::size_t>("batch-limit", settings.batch_limit, 1, 1'000, "Commands of one commit");

  keys.duration("inbox-retention", settings.inbox_retention, 60'000ms, std::chrono::milliseconds(std::chrono::days(3650)),
                "How long replies are kept; longer than any saga lives");
  keys.duration("participant-latency", settings.participant_latency, 0ms, 60'000ms, "To try deadlines on: wait so long before each batch");
  keys.real("participant-failure-rate", settings.participant_failure_rate, 0, 1,
            "To try retries on: share of attempts answered RETRY without effect");
  keys.number<std::uint64_t>("participant-seed", settings.participant_seed, 0, 1ULL << 62U, "The same seed lets the same attempts fail");
  keys.choice("log-level", settings.log_level, {"debug", "info", "warning", "error"}, "Least level that is logged, as JSON to standard error");
}

}  // namespace

std::optional<int> read_settings(ParticipantsSettings& settings, int argc, const char* const* argv) {
  settings.instance = host_name();
  config::Settings keys("outrigger-participants", "The order example's inventory, logistics and invoicing, on Kafka.", OUTRIGGER_VERSION);
  declare(keys, settings);
  if (const auto code = keys.read(argc, argv)) {
    return code;
  }
  if (settings.kafka_bootstrap.empty()) {
    std::fputs("outrigger-participants: --kafka-bootstrap HOST:PORT,… is needed\n", stderr);
    return exit_code::kUsage;
  }
  return std::nullopt;
}

}  // namespace outrigger::participants
