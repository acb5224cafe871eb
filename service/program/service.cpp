#include "service/program/service.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <format>
#include <thread>

#include "lib/http/operations.h"
#include "lib/http/server.h"
#include "lib/runtime/port_file.h"
#include "lib/telemetry/log.h"
#include "lib/telemetry/metrics.h"
#include "service/http_participants/http_transport.h"
#include "service/orders/in_process_transport.h"
#include "service/program/carriers.h"
#include "service/program/definition_watch.h"
#include "service/program/journal_factory.h"
#include "service/program/metrics.h"
#include "service/routes/api.h"
#include "service/saga/engine.h"

namespace outrigger::service {
namespace {

using namespace std::chrono_literals;

// Waits of clients that hold no thread would else hold the drain: they are answered with the state as it is.
constexpr auto kLongestWaitInDrain = 2s;
constexpr auto kLookAgain = 5ms;

// Participants in this process; none when the journal brings commands to them elsewhere.
Result<std::unique_ptr<orders::InProcessTransport>> open_participants(const ServiceSettings& settings, telemetry::Registry& registry) {
  const auto catalogue = orders::load_catalogue(settings.catalogue);
  if (!catalogue) {
    return std::unexpected(catalogue.error());
  }
  const orders::ParticipantSettings with{
      .folder = settings.data_dir / "participants",
      .retention = settings.inbox_retention,
      .misbehaviour = {
          .latency = settings.participant_latency, .failure_rate = settings.participant_failure_rate, .seed = settings.participant_seed}};
  std::vector<std::unique_ptr<orders::Participant>> participants;
  for (const auto kind : orders::kParticipantKinds) {
    auto participant = orders::Participant::open(kind, with, *catalogue, registry);
    if (!participant) {
      return std::unexpected(participant.error());
    }
    participants.push_back(*std::move(participant));
  }
  return std::make_unique<orders::InProcessTransport>(orders::InProcessTransport::Settings{}, std::move(participants), registry);
}

// A step that nobody serves would time out for ever: better said at the start.
Result<void> check_destination(const saga::Step& step, const orders::InProcessTransport& in_process, const http_participants::HttpTransport& http) {
  if (step.url.empty() && !in_process.serves(step.topic)) {
    return fail(ErrorCode::kInvalidArgument,
                std::format("sends to {}, which no participant of this process serves: correct its topic, give it a url, or use --journal kafka",
                            step.topic));
  }
  if (step.url.empty()) {
    return {};
  }
  return http.check(step.url).and_then([&] { return step.compensate ? http.check(step.compensate->url) : Result<void>{}; });
}

Result<void> check_destinations(const saga::Catalog& definitions, const orders::InProcessTransport& in_process,
                                const http_participants::HttpTransport& http) {
  for (const auto& definition : definitions.all()) {
    for (const auto& step : definition->steps) {
      if (const auto checked = check_destination(step, in_process, http); !checked) {
        return fail(ErrorCode::kInvalidArgument, std::format("step {}: {}", step.name, checked.error().message),
                    std::format("definition {} v{}", definition->name, definition->version));
      }
    }
  }
  return {};
}

}  // namespace

// In the order of their making; destroyed the other way round.
struct Service::Parts {
  ServiceSettings settings;
  telemetry::Registry registry;
  std::atomic<bool> is_draining = false;
  std::atomic<int> demanded_exit = -1;
  std::unique_ptr<journal::Journal> journal;
  // Null with Kafka, which brings all commands itself.
  std::unique_ptr<orders::InProcessTransport> in_process;
  std::unique_ptr<http_participants::HttpTransport> http_participants;
  std::unique_ptr<Carriers> carriers;
  std::unique_ptr<saga::Engine> engine;
  std::unique_ptr<routes::Api> api;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<http::Server> operations;
  saga::Catalog definitions_of_the_start;
  std::unique_ptr<DefinitionWatch> definition_watch;

  ~Parts() {
    definition_watch->stop();
    server.reset();
    if (engine) {
      engine->stop();
    }
    stop_participants();
    operations.reset();
  }

  [[nodiscard]] Result<std::vector<std::shared_ptr<const saga::Definition>>> adopt(const saga::Catalog& found) const {
    const auto checked =
        carriers ? check_destinations(found, *in_process, *http_participants) : check_command_topics(found, definitions_of_the_start);
    return checked ? engine->add_definitions(found) : std::unexpected(checked.error());
  }

  void stop_participants() const {
    if (carriers) {
      http_participants->stop();
      in_process->stop();
    }
  }
};

Service::Service(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::open(const ServiceSettings& settings) {
  auto parts = std::make_unique<Parts>();
  parts->settings = settings;
  parts->registry.gauge(metrics::kBuild, {{"version", OUTRIGGER_VERSION}}).set(1);
  parts->registry.counter_function(metrics::kLogDropped, [] { return static_cast<double>(telemetry::dropped_log_records()); });

  // Before they are read: what changes in between is a change.
  parts->definition_watch = std::make_unique<DefinitionWatch>(
      DefinitionWatch::Settings{.folder = settings.definitions, .interval = settings.definitions_interval},
      [raw = parts.get()](const saga::Catalog& found) { return raw->adopt(found); }, parts->registry);
  auto definitions = saga::Catalog::load(settings.definitions);
  if (!definitions) {
    return std::unexpected(definitions.error());
  }
  auto journal = open_journal(
      settings, *definitions,
      [raw = parts.get()](int code) {
        raw->demanded_exit = code;
        kill(getpid(), SIGTERM);  // main waits for it
      },
      parts->registry);
  if (!journal) {
    return std::unexpected(journal.error());
  }
  parts->journal = *std::move(journal);
  if (!parts->journal->delivers_commands()) {
    auto in_process = open_participants(settings, parts->registry);
    if (!in_process) {
      return std::unexpected(in_process.error());
    }
    parts->in_process = *std::move(in_process);
    parts->http_participants = std::make_unique<http_participants::HttpTransport>(settings.http_participants, parts->registry);
    parts->carriers = std::make_unique<Carriers>(*parts->in_process, *parts->http_participants);
    if (const auto checked = check_destinations(*definitions, *parts->in_process, *parts->http_participants); !checked) {
      return std::unexpected(checked.error());
    }
  }
  parts->definitions_of_the_start = *definitions;
  parts->engine = std::make_unique<saga::Engine>(
      saga::EngineSettings{.lanes = settings.lanes, .max_input_bytes = settings.max_body_bytes, .retention = settings.retention},
      *std::move(definitions), *parts->journal, parts->carriers.get(), parts->registry);
  parts->api = std::make_unique<routes::Api>(
      routes::Settings{.max_wait = settings.max_wait, .max_event_streams = settings.max_event_streams, .event_heartbeat = settings.event_heartbeat},
      *parts->engine, parts->registry);

  http::Router router;
  parts->api->add_to(router);
  parts->server = std::make_unique<http::Server>(http::ServerSettings{.name = "api",
                                                                      .address = settings.http_address,
                                                                      .port = settings.http_port,
                                                                      .loops = settings.http_loops,
                                                                      .max_connections = settings.max_connections,
                                                                      .max_body_bytes = settings.max_body_bytes},
                                                 std::move(router), parts->registry);
  http::HealthChecks checks;
  auto* raw = parts.get();
  checks.readiness.push_back({"engine", [raw] { return raw->engine->ready(); }});
  checks.readiness.push_back({"draining", [raw]() -> Result<void> {
                                if (raw->is_draining) {
                                  return fail(ErrorCode::kUnavailable, "told to stop");
                                }
                                return {};
                              }});
  parts->operations = std::make_unique<http::Server>(
      http::ServerSettings{
          .name = "operations", .address = settings.operations_address, .port = settings.operations_port, .loops = 1, .max_connections = 256},
      http::make_operations_router(parts->registry, std::move(checks), {parts->server.get()}), parts->registry);
  return std::unique_ptr<Service>(new Service(std::move(parts)));
}

Result<void> Service::start() {
  auto& parts = *parts_;
  if (parts.carriers) {
    parts.in_process->start(*parts.engine);
    parts.http_participants->start(*parts.engine);
  }
  return parts.operations->start().and_then([&] { return parts.engine->run(); }).and_then([&] { return parts.server->start(); }).transform([&] {
    parts.definition_watch->start();
  });
}

Result<void> Service::ready() const { return parts_->engine->ready(); }

std::optional<int> Service::demanded_exit() const {
  const int code = parts_->demanded_exit;
  return code < 0 ? std::nullopt : std::optional(code);
}

Result<void> Service::announce() const {
  telemetry::log(telemetry::LogLevel::kInfo, "ready",
                 {{"http", std::format("{}:{}", parts_->settings.http_address, parts_->server->port())},
                  {"operations", std::format("{}:{}", parts_->settings.operations_address, parts_->operations->port())},
                  {"journal", parts_->settings.journal},
                  {"instance", parts_->settings.instance}});
  return write_port_file(parts_->settings.port_file, {{"http", parts_->server->port()}, {"operations", parts_->operations->port()}});
}

std::size_t Service::drain(StopSignal& stop) {
  auto& parts = *parts_;
  parts.is_draining = true;
  parts.server->begin_drain();
  telemetry::log(telemetry::LogLevel::kInfo, "draining", {{"in_flight", std::to_string(parts.server->stats().requests_in_flight)}});
  (void)stop.wait_for(parts.settings.drain_delay);

  const auto deadline = std::chrono::steady_clock::now() + parts.settings.drain_timeout;
  std::size_t cut_off = 0;
  std::jthread server([&] { cut_off = parts.server->drain(deadline); });
  const auto waits_until = std::min(deadline, std::chrono::steady_clock::now() + kLongestWaitInDrain);
  while (parts.server->stats().requests_in_flight > 0 && std::chrono::steady_clock::now() < waits_until) {
    std::this_thread::sleep_for(kLookAgain);
  }
  parts.engine->stop();
  parts.stop_participants();
  server.join();
  (void)parts.operations->drain(std::chrono::steady_clock::now() + 100ms);
  telemetry::log(cut_off == 0 ? telemetry::LogLevel::kInfo : telemetry::LogLevel::kWarning, "stopped", {{"cut_off", std::to_string(cut_off)}});
  return cut_off;
}

}  // namespace outrigger::service
