#include "service/journal/kafka/topics.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace outrigger::journal {
namespace {

kafka::TopicSpec topic(std::string_view name, int brokers = 3) {
  const auto topics = declare_topics({.command_topics = {"cmd.inventory"}}, brokers);
  return *std::ranges::find(topics, name, &kafka::TopicSpec::name);
}

std::optional<kafka::TopicDescription> as_declared(const kafka::TopicSpec& spec) {
  return kafka::TopicDescription{.id = "id", .partitions = spec.partitions, .replication_factor = spec.replication_factor, .config = spec.config};
}

TEST(Topics, HaveThreeCopiesOfWhichTwoAreInSyncWhereThereAreThreeBrokers) {
  for (const auto* name : {"saga.inbox.g1", "saga.state.g1", "saga.history", "saga.dlq", "cmd.inventory"}) {
    EXPECT_EQ(topic(name).partitions, 12) << name;
    EXPECT_EQ(topic(name).replication_factor, 3) << name;
    EXPECT_EQ(topic(name).config.at("min.insync.replicas"), "2") << name;
    EXPECT_EQ(topic(name, 1).replication_factor, 1) << name;
    EXPECT_EQ(topic(name, 1).config.at("min.insync.replicas"), "1") << name;
  }
  EXPECT_EQ(topic("saga.inbox.g1").config.at("retention.ms"), "604800000");
  EXPECT_EQ(topic("saga.state.g1").config.at("cleanup.policy"), "compact");
}

TEST(Topics, AsDeclaredAreAccepted) {
  for (const auto* name : {"saga.inbox.g1", "saga.state.g1", "cmd.inventory"}) {
    EXPECT_TRUE(check_topic(topic(name), as_declared(topic(name)))) << name;
  }
}

void expect_refused(std::string_view name, const std::optional<kafka::TopicDescription>& found, std::string_view what, std::string_view remedy) {
  const auto checked = check_topic(topic(name), found);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kFailedPrecondition);
  for (const auto text : {name, what, remedy}) {
    EXPECT_NE(checked.error().message.find(text), std::string::npos) << checked.error().message << " should say " << text;
  }
}

TEST(Topics, SharedByGenerationsMayHaveMorePartitionsButNotFewer) {
  auto found = as_declared(topic("saga.history"));
  found->partitions = 24;
  EXPECT_TRUE(check_topic(topic("saga.history"), found));
  found->partitions = 6;
  const auto checked = check_topic(topic("saga.history"), found);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("kafka-topics --alter --topic saga.history --partitions 12"), std::string::npos) << checked.error().message;
}

TEST(Topics, AreRefusedWhenTheyWouldLoseSagas) {
  expect_refused("saga.state.g1", std::nullopt, "is missing", "--kafka-create-topics");
  auto found = as_declared(topic("saga.state.g1"));
  found->config["cleanup.policy"] = "compact,delete";
  expect_refused("saga.state.g1", found, "cleanup.policy is 'compact,delete'", "cleanup.policy=compact");
  found = as_declared(topic("saga.inbox.g1"));
  found->partitions = 6;
  expect_refused("saga.inbox.g1", found, "6 partitions, 12 are needed", "--kafka-topic-generation");
  found = as_declared(topic("saga.inbox.g1"));
  found->config["unclean.leader.election.enable"] = "true";
  expect_refused("saga.inbox.g1", found, "acknowledged records can vanish", "unclean.leader.election.enable=false");
  found = as_declared(topic("cmd.inventory"));
  found->config["min.insync.replicas"] = "1";
  expect_refused("cmd.inventory", found, "min.insync.replicas is 1", "min.insync.replicas=2");
}

}  // namespace
}  // namespace outrigger::journal
