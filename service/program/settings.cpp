#include "service/program/settings.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "lib/config/settings.h"
#include "lib/runtime/lifecycle.h"

namespace outrigger::service {
namespace {

using namespace std::chrono_literals;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "outrigger";
}

void declare(config::Settings& keys, http_participants::Settings& settings) {
  keys.list("http-participant-hosts", settings.allowed_hosts,
            "Hosts (HOST or HOST:PORT,…) that steps may call by URL; none: every host that a definition names");
  keys.number<std::size_t>("http-participants", settings.max_participants, 1, 1'024,
                           "Participants called by HTTP: hosts and ports; each has a thread");
  keys.number<std::size_t>("http-participant-concurrency", settings.concurrency, 1, 10'000, "Requests at once to one of them");
  keys.number<std::size_t>("http-participant-queue", settings.queue_capacity, 1, 1'000'000, "Commands that wait for one of them");
  keys.number<std::size_t>("http-participant-in-progress", settings.max_in_progress, 1, 1'000'000,
                           "Commands that one of them has accepted (202) and is asked after");
  keys.number<std::size_t>("http-participant-max-answer-bytes", settings.max_answer_bytes, 1'024, 16U << 20U, "Largest body of an answer");
  keys.duration("http-participant-connect-timeout", settings.connect_timeout, 1ms, 60'000ms, "Longest wait for a connection to one of them");
  keys.duration("http-participant-poll-interval", settings.poll_interval, 50ms, 3'600'000ms, "How often to ask after a 202 that has no Retry-After");
  keys.duration("http-participant-resolve-interval", settings.resolve_interval, 1'000ms, 86'400'000ms, "How often their host names are looked up");
  keys.number("http-participant-circuit-failures", settings.circuit.failures_to_open, 1U, 1'000'000U,
              "Failures in a row that open the circuit breaker");
  keys.duration("http-participant-circuit-open", settings.circuit.open_for, 1ms, 3'600'000ms,
                "How long it stays open at first; doubles while probes fail");
  keys.duration("http-participant-circuit-max-open", settings.circuit.max_open_for, 1ms, 3'600'000ms, "How long it stays open at most");
}

void declare(config::Settings& keys, ServiceSettings& settings) {
  keys.text("http-address", settings.http_address, "Address of the API");
  keys.port("http-port", settings.http_port, "Port of the API; 0: any free one, see --port-file");
  keys.text("operations-address", settings.operations_address, "Address of /livez, /readyz and /metrics");
  keys.port("operations-port", settings.operations_port, "Port of /livez, /readyz and /metrics");
  keys.path("port-file", settings.port_file, "Where to write the bound ports as JSON once the service is ready");
  keys.number("http-loops", settings.http_loops, 0U, 256U, "Event loops of the API; 0: one per CPU");
  keys.number<std::size_t>("max-connections", settings.max_connections, 1, 1'000'000, "Connections at once");
  keys.number<std::size_t>("max-body-bytes", settings.max_body_bytes, 1'024, 16U << 20U, "Largest request body");
  keys.duration("max-wait", settings.max_wait, 0ms, 600'000ms, "Longest ?wait= of a request");

  keys.number<std::size_t>("max-event-streams", settings.max_event_streams, 1, 100'000, "Streams of saga events at once");
  keys.duration("event-heartbeat", settings.event_heartbeat, 10ms, 300'000ms, "A stream of events without one sends a comment so often");

  keys.path("data-dir", settings.data_dir, "Folder of the store and the participants' databases; of one process alone");
  keys.path("definitions", settings.definitions, "Folder of saga definitions (*.yaml)");
  keys.duration("definitions-interval", settings.definitions_interval, 0ms, 3'600'000ms,
                "How often that folder is looked at for new definitions; 0: only at the start");
  keys.path("catalogue", settings.catalogue, "Products, carriers and customers that new participants' databases start with");
  keys.text("instance", settings.instance, "Name of this instance, the same after a restart");
  keys.number("lanes", settings.lanes, 0U, 256U, "Threads that run sagas; 0: one per CPU, at most 4");
  keys.duration("retention", settings.retention, 1'000ms, std::chrono::milliseconds(std::chrono::days(3650)), "How long finished sagas are kept");

  keys.choice("journal", settings.journal, {"embedded", "kafka"}, "What makes sagas durable");
  keys.number("partitions", settings.partitions, 1U, 4'096U, "Partitions of the embedded journal; fixed when the store is made");
  keys.list("kafka-bootstrap", settings.kafka_bootstrap, "Kafka brokers, HOST:PORT,…");
  keys.text("kafka-topic-generation", settings.kafka_topic_generation, "Which set of topics: g1 is saga.inbox.g1, saga.state.g1");
  keys.flag("kafka-create-topics", settings.kafka_create_topics,
            "Make the topics that are missing: three copies, two in sync, where there are three brokers");

  keys.duration("inbox-retention", settings.inbox_retention, 60'000ms, std::chrono::milliseconds(std::chrono::days(3650)),
                "How long participants keep their replies; longer than any saga lives");
  keys.duration("participant-latency", settings.participant_latency, 0ms, 60'000ms,
                "To try deadlines on: participants wait so long before each batch");
  keys.real("participant-failure-rate", settings.participant_failure_rate, 0, 1,
            "To try retries on: share of attempts answered RETRY without effect");
  keys.number<std::uint64_t>("participant-seed", settings.participant_seed, 0, 1ULL << 62U, "The same seed lets the same attempts fail");

  declare(keys, settings.http_participants);

  keys.duration("drain-delay", settings.drain_delay, 0ms, 300'000ms, "After SIGTERM: keep serving so long, not ready, until traffic goes elsewhere");
  keys.duration("drain-timeout", settings.drain_timeout, 0ms, 3'600'000ms, "After that: wait so long for requests in flight");
  keys.choice("log-level", settings.log_level, {"debug", "info", "warning", "error"}, "Least level that is logged, as JSON to standard error");
}

}  // namespace

std::optional<int> read_settings(ServiceSettings& settings, int argc, const char* const* argv) {
  settings.instance = host_name();
  config::Settings keys("outrigger-service", "HTTP API and saga orchestrator.", OUTRIGGER_VERSION);
  declare(keys, settings);
  if (const auto code = keys.read(argc, argv)) {
    return code;
  }
  if (settings.uses_kafka() && settings.kafka_bootstrap.empty()) {
    std::fputs("outrigger-service: --journal kafka needs --kafka-bootstrap HOST:PORT,…\n", stderr);
    return exit_code::kUsage;
  }
  return std::nullopt;
}

}  // namespace outrigger::service
