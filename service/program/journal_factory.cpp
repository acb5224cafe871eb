#include "service/program/journal_factory.h"

#include <format>
#include <set>
#include <system_error>

#include "lib/kafka/message_codec.h"
#include "service/journal/embedded_journal.h"
#include "service/journal/kafka/kafka_journal.h"
#include "service/orders/contracts/contracts.h"

namespace outrigger::service {

namespace {

Result<std::set<std::string>> command_topics(const saga::Catalog& definitions) {
  std::set<std::string> topics;
  for (const auto& definition : definitions.all()) {
    for (const auto& step : definition->steps) {
      if (!step.url.empty()) {
        return fail(
            ErrorCode::kInvalidArgument,
            std::format("step {} names a URL, but with --journal kafka commands go through Kafka alone: give it a topic, or use --journal embedded",
                        step.name),
            std::format("definition {} v{}", definition->name, definition->version));
      }
      topics.insert(step.topic);
    }
  }
  return topics;
}

Result<std::unique_ptr<journal::Journal>> open_kafka(const ServiceSettings& settings, const saga::Catalog& definitions, DemandExit demand_exit,
                                                     telemetry::Registry& registry) {
  const auto topics = command_topics(definitions);
  if (!topics) {
    return std::unexpected(topics.error());
  }
  std::string bootstrap;
  for (const auto& broker : settings.kafka_bootstrap) {
    bootstrap += (bootstrap.empty() ? "" : ",") + broker;
  }
  contracts::SchemaRegistry contracts;
  if (auto added = contracts.add_embedded(kafka::protocol_schemas()).and_then([&] { return contracts.add_embedded(orders::contract_schemas()); });
      !added) {
    return std::unexpected(added.error());
  }
  return journal::open_kafka_journal(
      {.client = {.bootstrap = bootstrap, .client_id = std::format("outrigger-service-{}", settings.instance), .extra = {}},
       .topics = {.generation = settings.kafka_topic_generation, .command_topics = {topics->begin(), topics->end()}},
       .create_topics = settings.kafka_create_topics,
       .instance = settings.instance,
       .cache_folder = settings.data_dir / std::format("kafka-cache-{}", settings.kafka_topic_generation),
       .contract_package = std::string(orders::kContractPackage),
       .on_fatal = [demand_exit = std::move(demand_exit)](int code, const std::string&) { demand_exit(code); }},
      std::move(contracts), registry);
}

}  // namespace

Result<void> check_command_topics(const saga::Catalog& found, const saga::Catalog& of_the_start) {
  const auto wanted = command_topics(found);
  if (!wanted) {
    return std::unexpected(wanted.error());
  }
  for (const auto& topic : *wanted) {
    if (!command_topics(of_the_start)->contains(topic)) {
      return fail(
          ErrorCode::kFailedPrecondition,
          std::format("a new definition sends to {}, which no definition of the start did: restart the service, which then checks the topic", topic));
    }
  }
  return {};
}

Result<std::unique_ptr<journal::Journal>> open_journal(const ServiceSettings& settings, const saga::Catalog& definitions, DemandExit demand_exit,
                                                       telemetry::Registry& registry) {
  std::error_code problem;
  std::filesystem::create_directories(settings.data_dir, problem);
  if (problem) {
    return fail(ErrorCode::kPermissionDenied, std::format("cannot make the data folder: {}: choose another with --data-dir", problem.message()),
                settings.data_dir.string());
  }
  if (settings.uses_kafka()) {
    return open_kafka(settings, definitions, std::move(demand_exit), registry);
  }
  return journal::open_embedded_journal({.folder = settings.data_dir / "journal", .partitions = settings.partitions});
}

}  // namespace outrigger::service
