#include "service/participants_program/program.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <format>
#include <vector>

#include "lib/http/operations.h"
#include "lib/http/server.h"
#include "lib/kafka/admin.h"
#include "lib/kafka/message_codec.h"
#include "lib/runtime/port_file.h"
#include "lib/telemetry/log.h"
#include "service/journal/kafka/topics.h"
#include "service/orders/catalogue.h"
#include "service/orders/contracts/contracts.h"
#include "service/participants_program/carrier.h"

namespace outrigger::participants {
namespace {

constexpr std::chrono::milliseconds kAsk{30'000};
constexpr telemetry::MetricInfo kBuild{"outrigger_build_info", "Always 1; the label says which release runs."};
constexpr telemetry::MetricInfo kLogDropped{"outrigger_log_records_dropped_total", "Log records dropped because the queue was full."};

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) {
    text += (text.empty() ? "" : ",") + part;
  }
  return text;
}

Result<std::vector<orders::ParticipantKind>> kinds_of(const std::vector<std::string>& names) {
  std::vector<orders::ParticipantKind> kinds;
  for (const auto& wanted : names) {
    const auto found = std::ranges::find(orders::kParticipantKinds, wanted, [](orders::ParticipantKind kind) { return name(kind); });
    if (found == orders::kParticipantKinds.end()) {
      return fail(ErrorCode::kInvalidArgument, std::format("--participants: '{}' is none of inventory, logistics, invoicing", wanted));
    }
    kinds.push_back(*found);
  }
  return kinds;
}

/// Those of the declared topics that participants read and write.
Result<void> create_topics(const kafka::ClientSettings& client, const std::vector<orders::ParticipantKind>& kinds) {
  journal::TopicSettings settings;
  for (const auto kind : kinds) {
    settings.command_topics.emplace_back(destination(kind));
  }
  const auto admin = kafka::Admin::create(client);
  if (!admin) {
    return std::unexpected(admin.error());
  }
  const auto brokers = (*admin)->broker_count(kAsk);
  if (!brokers) {
    return std::unexpected(brokers.error());
  }
  auto topics = journal::declare_topics(settings, *brokers);
  const auto names = journal::TopicNames::of(settings.generation);
  std::erase_if(topics,
                [&](const kafka::TopicSpec& topic) { return topic.name == names.inbox || topic.name == names.state || topic.name == names.history; });
  return (*admin)->create_topics(topics, kAsk);
}

}  // namespace

struct Program::Parts {
  ParticipantsSettings settings;
  telemetry::Registry registry;
  std::atomic<int> demanded_exit = -1;
  std::vector<std::unique_ptr<Carrier>> carriers;
  std::unique_ptr<http::Server> operations;

  ~Parts() {
    carriers.clear();
    operations.reset();
  }
};

Program::Program(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Program::~Program() = default;

Result<std::unique_ptr<Program>> Program::start(const ParticipantsSettings& settings) {
  auto parts = std::make_unique<Parts>();
  auto* raw = parts.get();
  parts->settings = settings;
  parts->registry.gauge(kBuild, {{"version", OUTRIGGER_VERSION}}).set(1);
  parts->registry.counter_function(kLogDropped, [] { return static_cast<double>(telemetry::dropped_log_records()); });

  const auto kinds = kinds_of(settings.participants);
  if (!kinds) {
    return std::unexpected(kinds.error());
  }
  const auto catalogue = orders::load_catalogue(settings.catalogue);
  if (!catalogue) {
    return std::unexpected(catalogue.error());
  }
  contracts::SchemaRegistry contracts;
  if (auto added = contracts.add_embedded(kafka::protocol_schemas()).and_then([&] { return contracts.add_embedded(orders::contract_schemas()); });
      !added) {
    return std::unexpected(added.error());
  }
  const kafka::ClientSettings client{
      .bootstrap = join(settings.kafka_bootstrap), .client_id = std::format("outrigger-participants-{}", settings.instance), .extra = {}};
  if (settings.kafka_create_topics) {
    if (auto created = create_topics(client, *kinds); !created) {
      return std::unexpected(created.error());
    }
  }
  const orders::ParticipantSettings with{
      .folder = settings.data_dir,
      .retention = settings.inbox_retention,
      .misbehaviour = {
          .latency = settings.participant_latency, .failure_rate = settings.participant_failure_rate, .seed = settings.participant_seed}};
  const CarrierSettings carrier_settings{.client = client,
                                         .instance = settings.instance,
                                         .contract_package = std::string(orders::kContractPackage),
                                         .batch_limit = settings.batch_limit,
                                         .on_fatal = [raw](int code, const std::string&) {
                                           raw->demanded_exit = code;
                                           kill(getpid(), SIGTERM);
                                         }};
  for (const auto kind : *kinds) {
    auto participant = orders::Participant::open(kind, with, *catalogue, parts->registry);
    if (!participant) {
      return std::unexpected(participant.error());
    }
    auto carrier = Carrier::start(carrier_settings, std::move(*participant), contracts, parts->registry);
    if (!carrier) {
      return std::unexpected(carrier.error());
    }
    parts->carriers.push_back(std::move(*carrier));
  }
  auto program = std::unique_ptr<Program>(new Program(std::move(parts)));
  http::HealthChecks checks;
  checks.readiness.push_back({"carriers", [self = program.get()] { return self->ready(); }});
  raw->operations = std::make_unique<http::Server>(
      http::ServerSettings{
          .name = "operations", .address = settings.operations_address, .port = settings.operations_port, .loops = 1, .max_connections = 256},
      http::make_operations_router(raw->registry, std::move(checks)), raw->registry);
  if (auto started = raw->operations->start(); !started) {
    return std::unexpected(started.error());
  }
  return program;
}

Result<void> Program::ready() const {
  for (const auto& carrier : parts_->carriers) {
    if (auto ready = carrier->ready(); !ready) {
      return ready;
    }
  }
  return {};
}

Result<void> Program::announce() const {
  telemetry::log(telemetry::LogLevel::kInfo, "ready",
                 {{"operations", std::format("{}:{}", parts_->settings.operations_address, parts_->operations->port())},
                  {"instance", parts_->settings.instance}});
  return write_port_file(parts_->settings.port_file, {{"operations", parts_->operations->port()}});
}

std::optional<int> Program::demanded_exit() const {
  const int code = parts_->demanded_exit;
  return code < 0 ? std::nullopt : std::optional(code);
}

}  // namespace outrigger::participants
