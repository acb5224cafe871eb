#include "service/journal/kafka/topics.h"

#include <format>

#include "lib/telemetry/log.h"

namespace outrigger::journal {
namespace {

constexpr std::chrono::milliseconds kTimeout{10'000};
constexpr int kCopies = 3;
constexpr std::string_view kWeek = "604800000";
constexpr std::string_view kMonth = "2592000000";

std::unexpected<Error> refuse(const kafka::TopicSpec& topic, std::string_view what, std::string_view remedy) {
  return fail(ErrorCode::kFailedPrecondition, std::format("topic {}: {}; {}", topic.name, what, remedy));
}

/// Inbox and state belong to one generation; commands, history and dead letters are shared by all.
bool is_of_one_generation(const kafka::TopicSpec& topic) { return topic.name.starts_with("saga.inbox.") || topic.name.starts_with("saga.state."); }

}  // namespace

TopicNames TopicNames::of(std::string_view generation) {
  return {.inbox = std::format("saga.inbox.{}", generation),
          .state = std::format("saga.state.{}", generation),
          .history = "saga.history",
          .dead_letters = "saga.dlq"};
}

std::vector<kafka::TopicSpec> declare_topics(const TopicSettings& settings, int brokers) {
  const auto names = TopicNames::of(settings.generation);
  const std::int32_t copies = brokers >= kCopies ? kCopies : 1;
  const auto topic = [&](std::string name, std::map<std::string, std::string> config) {
    config.emplace("min.insync.replicas", copies == kCopies ? "2" : "1");
    config.emplace("unclean.leader.election.enable", "false");
    config.emplace("max.message.bytes", "4194304");
    return kafka::TopicSpec{.name = std::move(name),
                            .partitions = static_cast<std::int32_t>(settings.partitions),
                            .replication_factor = copies,
                            .config = std::move(config)};
  };
  const std::map<std::string, std::string> week{{"cleanup.policy", "delete"}, {"retention.ms", std::string(kWeek)}};
  std::vector<kafka::TopicSpec> topics{
      topic(names.inbox, week),
      // Compacted only, never deleted by age: a saga may wait longer than any retention. Tombstones outlive the longest absence of a cache.
      topic(names.state, {{"cleanup.policy", "compact"}, {"delete.retention.ms", std::string(kWeek)}, {"segment.ms", "3600000"}}),
      topic(names.history, week), topic(names.dead_letters, {{"cleanup.policy", "delete"}, {"retention.ms", std::string(kMonth)}})};
  for (const auto& name : settings.command_topics) {
    topics.push_back(topic(name, week));
  }
  return topics;
}

Result<void> check_topic(const kafka::TopicSpec& wanted, const std::optional<kafka::TopicDescription>& found) {
  if (!found) {
    return refuse(wanted, "is missing", "create it, or start once with --kafka-create-topics");
  }
  if (is_of_one_generation(wanted) && found->partitions != wanted.partitions) {
    return refuse(wanted, std::format("has {} partitions, {} are needed", found->partitions, wanted.partitions),
                  "a set of topics keeps its partition count: use a new --kafka-topic-generation, or remove the topic if nothing was written");
  }
  if (found->partitions < wanted.partitions) {
    return refuse(wanted, std::format("has {} partitions, at least {} are needed", found->partitions, wanted.partitions),
                  std::format("kafka-topics --alter --topic {} --partitions {}", wanted.name, wanted.partitions));
  }
  const auto setting = [&](const std::string& name) {
    const auto entry = found->config.find(name);
    return entry == found->config.end() ? std::string() : entry->second;
  };
  if (wanted.config.at("cleanup.policy") == "compact" && setting("cleanup.policy") != "compact") {
    return refuse(wanted, std::format("cleanup.policy is '{}', so Kafka would delete sagas that wait", setting("cleanup.policy")),
                  std::format("kafka-configs --alter --topic {} --add-config cleanup.policy=compact", wanted.name));
  }
  if (setting("unclean.leader.election.enable") == "true") {
    return refuse(wanted, "unclean.leader.election.enable is true, so acknowledged records can vanish",
                  std::format("kafka-configs --alter --topic {} --add-config unclean.leader.election.enable=false", wanted.name));
  }
  if (found->replication_factor >= kCopies && setting("min.insync.replicas") == "1") {
    return refuse(wanted, "min.insync.replicas is 1, so one broker's loss can lose acknowledged records",
                  std::format("kafka-configs --alter --topic {} --add-config min.insync.replicas=2", wanted.name));
  }
  return {};
}

Result<void> check_topics(const kafka::Admin& admin, const TopicSettings& settings, std::chrono::milliseconds patience) {
  bool is_single = false;
  for (const auto& wanted : declare_topics(settings, kCopies)) {
    const auto found = admin.await(wanted.name, patience, kTimeout);
    if (!found) {
      return std::unexpected(found.error());
    }
    if (auto checked = check_topic(wanted, *found); !checked) {
      return checked;
    }
    is_single |= (*found)->replication_factor < kCopies;
  }
  if (is_single) {
    telemetry::log(telemetry::LogLevel::kWarning, "topics have fewer than three copies: a broker's loss can lose sagas; good for trials only");
  }
  return {};
}

}  // namespace outrigger::journal
