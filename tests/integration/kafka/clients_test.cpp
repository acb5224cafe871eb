#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/kafka/admin.h"
#include "lib/kafka/consumer.h"
#include "lib/kafka/producer.h"
#include "lib/kafka/transactional_producer.h"
#include "tests/integration/kafka/cluster.h"

namespace outrigger::kafka {
namespace {

using testing::eventually;
using testing::kafka_client;
using testing::unique_name;

constexpr std::chrono::milliseconds kTimeout{20'000};

/// A group member and what its callbacks said.
struct Member {
  std::optional<GroupMetadata> group;
  std::vector<TopicPartition> partitions;
  int revocations = 0;
  bool is_instance_fenced = false;
  int restarts = 0;
  std::unique_ptr<Consumer> consumer;  // last: closing it calls back

  void poll() {
    const auto polled = consumer->poll(std::chrono::milliseconds{20});
    if (const auto* error = std::get_if<ConsumerError>(&polled)) {
      is_instance_fenced |= error->is_instance_fenced;
      restarts += error->is_restarted ? 1 : 0;
    }
  }
};

class KafkaClients : public ::testing::Test {
 protected:
  void SetUp() override {
    auto admin = Admin::create(kafka_client());
    ASSERT_TRUE(admin);
    admin_ = std::move(*admin);
    const auto created =
        admin_->create_topics({{.name = topic_, .partitions = 2, .replication_factor = 1, .config = {{"cleanup.policy", "compact"}}}}, kTimeout);
    ASSERT_TRUE(created) << created.error().to_string();
  }

  std::unique_ptr<Member> join(const std::string& group, const std::string& instance = {},
                               std::chrono::milliseconds stall_after = std::chrono::milliseconds{15'000}) {
    auto member = std::make_unique<Member>();
    auto consumer = Consumer::create({.client = kafka_client(),
                                      .group = group,
                                      .instance = instance,
                                      .session_timeout = std::chrono::milliseconds{6000},
                                      .stall_after = stall_after});
    EXPECT_TRUE(consumer);
    member->consumer = std::move(*consumer);
    auto* raw = member.get();
    EXPECT_TRUE(member->consumer->subscribe({topic_}, {.assigned =
                                                           [raw](const GroupMetadata& metadata, std::vector<TopicPartition> partitions) {
                                                             raw->group = metadata;
                                                             raw->partitions = std::move(partitions);
                                                           },
                                                       .revoked =
                                                           [raw](const std::vector<TopicPartition>&, bool) {
                                                             raw->partitions.clear();
                                                             ++raw->revocations;
                                                           }}));
    return member;
  }

  std::unique_ptr<TransactionalProducer> open(const std::string& id) {
    auto producer =
        TransactionalProducer::open({.client = kafka_client(), .transactional_id = id, .transaction_timeout = std::chrono::milliseconds{10'000}});
    EXPECT_TRUE(producer) << producer.error().to_string();
    return std::move(*producer);
  }

  [[nodiscard]] OutgoingRecord record(std::string key, std::string value) const {
    return {.topic = topic_, .partition = 0, .key = std::move(key), .value = std::move(value), .headers = {{"h", "v"}}};
  }
  [[nodiscard]] Position position(std::int64_t next) const { return {.partition = {.topic = topic_, .partition = 0}, .next = next}; }

  /// Reads partition 0, committed records only, until its end; also says where that end is.
  std::vector<ReceivedRecord> read_all(std::int64_t& end) {
    auto consumer = Consumer::create({.client = kafka_client(), .group = "reader", .instance = {}, .partition_eof = true});
    EXPECT_TRUE((*consumer)->assign(std::vector{position(0)}));
    std::vector<ReceivedRecord> records;
    const bool reached = eventually([&] {
      auto polled = (*consumer)->poll(std::chrono::milliseconds{100});
      if (auto* received = std::get_if<ReceivedRecord>(&polled)) {
        records.push_back(std::move(*received));
      } else if (const auto* eof = std::get_if<EndOfPartition>(&polled)) {
        end = eof->next;
        return end >= admin_->watermarks({.topic = topic_, .partition = 0}, kTimeout)->high;
      }
      return false;
    });
    EXPECT_TRUE(reached);
    return records;
  }
  std::vector<ReceivedRecord> read_all() {
    std::int64_t end = 0;
    return read_all(end);
  }

  std::string topic_ = unique_name("clients");
  std::unique_ptr<Admin> admin_;
};

TEST_F(KafkaClients, DescribesTopicsAndKnowsMissingOnes) {
  const auto found = admin_->await(topic_, kTimeout, kTimeout);
  ASSERT_TRUE(found) << found.error().to_string();
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->partitions, 2);
  EXPECT_EQ((*found)->config.at("cleanup.policy"), "compact");
  EXPECT_FALSE((*found)->id.empty());
  const auto missing = admin_->describe(unique_name("none"), kTimeout);
  ASSERT_TRUE(missing) << missing.error().to_string();
  EXPECT_FALSE(*missing);
  EXPECT_TRUE(admin_->create_topics({{.name = topic_, .partitions = 9, .replication_factor = 1, .config = {}}}, kTimeout))
      << "existing topics stay as they are";
  EXPECT_EQ(*admin_->broker_count(kTimeout), testing::kafka_brokers());
}

TEST_F(KafkaClients, ReadsWhatItWrote) {
  auto producer = Producer::create(kafka_client());
  ASSERT_TRUE(producer);
  auto tombstone = record("gone", "");
  tombstone.value.reset();
  const auto offsets = (*producer)->send(std::vector{record("a", "1"), record("empty", ""), tombstone}, kTimeout);
  ASSERT_TRUE(offsets) << offsets.error().to_string();
  EXPECT_EQ(*offsets, (std::vector<std::int64_t>{0, 1, 2}));
  const auto records = read_all();
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].key, "a");
  EXPECT_EQ(records[0].value, "1");
  EXPECT_EQ(records[0].header("h"), "v");
  EXPECT_EQ(records[1].value, "");
  EXPECT_EQ(records[2].value, std::nullopt);
}

TEST_F(KafkaClients, SendingToAMissingTopicIsAnErrorOfTheCaller) {
  auto producer = Producer::create(kafka_client());
  auto wrong = record("a", "1");
  wrong.topic = unique_name("none");
  const auto offsets = (*producer)->send(std::vector{wrong}, kTimeout);
  ASSERT_FALSE(offsets);
  EXPECT_EQ(offsets.error().code, ErrorCode::kInvalidArgument) << offsets.error().to_string();
}

TEST_F(KafkaClients, ATransactionCommitsRecordsAndPositionsTogether) {
  auto member = join(unique_name("group"));
  ASSERT_TRUE(eventually([&] {
    member->poll();
    return member->group.has_value();
  }));
  auto producer = open(unique_name("tx"));
  const auto before = member->consumer->committed(std::vector{position(0).partition}, kTimeout);
  ASSERT_TRUE(before) << before.error().to_string();
  EXPECT_EQ(before->front(), std::nullopt);
  const auto written = producer->write(std::vector{record("a", "1"), record("b", "2")}, std::vector{position(7)}, *member->group);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(member->consumer->committed(std::vector{position(0).partition}, kTimeout)->front(), 7);
  std::int64_t end = 0;
  EXPECT_EQ(read_all(end).size(), 2U);
  EXPECT_EQ(end, 3) << "the end lies behind the transaction's marker";
}

TEST_F(KafkaClients, AnOldGenerationIsFencedAndWritesNothing) {
  const auto group = unique_name("group");
  auto first = join(group);
  ASSERT_TRUE(eventually([&] {
    first->poll();
    return first->group.has_value();
  }));
  const auto stale = *first->group;
  auto second = join(group);
  ASSERT_TRUE(eventually([&] {
    first->poll();
    second->poll();
    return second->partitions.size() == 1 && first->partitions.size() == 1;
  }));
  auto producer = open(unique_name("tx"));
  const auto written = producer->write(std::vector{record("zombie", "1")}, std::vector{position(7)}, stale);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().failure, WriteFailure::kFenced) << written.error().message;
  EXPECT_TRUE(producer->is_spent());
  EXPECT_EQ(first->consumer->committed(std::vector{position(0).partition}, kTimeout)->front(), std::nullopt);
  EXPECT_TRUE(read_all().empty());
}

TEST_F(KafkaClients, TheSameInstanceNameFencesTheOlderProcess) {
  const auto group = unique_name("group");
  auto first = join(group, "one");
  ASSERT_TRUE(eventually([&] {
    first->poll();
    return first->group.has_value();
  }));
  auto second = join(group, "one");
  ASSERT_TRUE(eventually([&] {
    second->poll();
    return second->group.has_value();
  }));
  EXPECT_EQ(first->group->generation(), second->group->generation()) << "a static restart keeps the generation: it alone is no fence";
  auto producer = open(unique_name("tx"));
  const auto written = producer->write(std::vector{record("zombie", "1")}, std::vector{position(7)}, *first->group);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().failure, WriteFailure::kInstanceFenced) << written.error().message;
  const auto members = admin_->group_members(group, kTimeout);
  ASSERT_TRUE(members) << members.error().to_string();
  ASSERT_EQ(members->size(), 1U);
  EXPECT_EQ(members->front().instance, "one");
  EXPECT_EQ(members->front().id, second->group->member_id());
  EXPECT_TRUE(eventually([&] {
    first->poll();
    return first->is_instance_fenced;
  }));
  EXPECT_EQ(first->restarts, 0) << "they would take turns";
  EXPECT_TRUE(read_all().empty());
}

// librdkafka ends the process when an admin request runs out of time while its coordinator is still being asked.
TEST_F(KafkaClients, ImpatienceWithTheGroupCrashesNothing) {
  for (int i = 0; i < 60; ++i) {
    const auto admin = Admin::create(kafka_client()).value();
    for (int patience = 1; patience <= 16; patience *= 2) {
      const auto members = admin->group_members(unique_name("group"), std::chrono::milliseconds(patience));
      EXPECT_TRUE(members || members.error().code == ErrorCode::kDeadlineExceeded || members.error().code == ErrorCode::kUnavailable)
          << members.error().to_string();
    }
  }
}

TEST_F(KafkaClients, ANewIncarnationEndsTheOlderOne) {
  auto member = join(unique_name("group"));
  ASSERT_TRUE(eventually([&] {
    member->poll();
    return member->group.has_value();
  }));
  const auto id = unique_name("tx");
  auto older = open(id);
  auto newer = open(id);
  const auto refused = older->write(std::vector{record("zombie", "1")}, std::vector{position(7)}, *member->group);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().failure, WriteFailure::kSuperseded) << refused.error().message;
  const auto written = newer->write(std::vector{record("a", "1")}, std::vector{position(8)}, *member->group);
  ASSERT_TRUE(written) << written.error().message;
  const auto records = read_all();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records.front().key, "a");
}

TEST_F(KafkaClients, FetchingWaitsForSeekAndStartsThereAgain) {
  auto producer = Producer::create(kafka_client());
  ASSERT_TRUE((*producer)->send(std::vector{record("a", "1"), record("b", "2"), record("c", "3")}, kTimeout));
  auto member = join(unique_name("group"));
  ASSERT_TRUE(eventually([&] {
    member->poll();
    return member->group.has_value();
  }));
  const auto next_key = [&] {
    std::string key;
    EXPECT_TRUE(eventually([&] {
      auto polled = member->consumer->poll(std::chrono::milliseconds{50});
      if (const auto* received = std::get_if<ReceivedRecord>(&polled)) {
        key = received->key;
      }
      return !key.empty();
    }));
    return key;
  };
  ASSERT_TRUE(member->consumer->seek(position(1)));
  EXPECT_EQ(next_key(), "b");
  ASSERT_TRUE(member->consumer->seek(position(0)));
  EXPECT_EQ(next_key(), "a");
}

// A member that does not poll holds the group up: nobody gets partitions until it gives way.
TEST_F(KafkaClients, AMemberThatWaitsTooLongForPartitionsIsMadeAnewAndGetsThemInTheEnd) {
  const auto group = unique_name("group");
  const auto silent = join(group);
  ASSERT_TRUE(eventually([&] {
    silent->poll();
    return silent->partitions.size() == 2;
  }));
  const auto waiting = join(group, "waiting", std::chrono::milliseconds{500});
  ASSERT_TRUE(eventually([&] {
    waiting->poll();
    return waiting->restarts > 0;
  }));
  EXPECT_TRUE(waiting->partitions.empty());
  silent->consumer->close();
  EXPECT_TRUE(eventually([&] {
    waiting->poll();
    return waiting->partitions.size() == 2;
  }));
  EXPECT_FALSE(waiting->is_instance_fenced);
}

}  // namespace
}  // namespace outrigger::kafka
