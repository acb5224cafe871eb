#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/kafka/admin.h"
#include "lib/kafka/message_codec.h"
#include "lib/kafka/producer.h"
#include "lib/runtime/ids.h"
#include "service/journal/kafka/kafka_journal.h"
#include "service/saga/state.h"
#include "tests/integration/kafka/cluster.h"
#include "tests/support/temporary_folder.h"

namespace outrigger::journal {
namespace {

using testing::eventually;

constexpr std::uint32_t kPartitions = 4;
constexpr std::chrono::milliseconds kTimeout{20'000};

/// Notes what the journal says. Takes input while `room` lasts.
class Notes final : public Listener {
 public:
  void on_assigned(std::span<const Assignment> given) override {
    const std::lock_guard lock(mutex_);
    assignments_.assign(given.begin(), given.end());
    ++assigned_;
  }
  void on_revoked(std::span<const std::uint32_t> partitions) override {
    const std::lock_guard lock(mutex_);
    revoked_ += partitions.size();
    assignments_.clear();
  }
  bool on_input(InboxRecord record) override {
    const std::lock_guard lock(mutex_);
    if (room_ == 0) {
      ++refused_;
      return false;
    }
    --room_;
    inputs_.push_back(std::move(record));
    return true;
  }

  std::vector<Assignment> assignments() const {
    const std::lock_guard lock(mutex_);
    return assignments_;
  }
  std::size_t assigned() const {
    const std::lock_guard lock(mutex_);
    return assigned_;
  }
  std::size_t refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  std::vector<InboxRecord> inputs() const {
    const std::lock_guard lock(mutex_);
    return inputs_;
  }
  void set_room(std::size_t room) {
    const std::lock_guard lock(mutex_);
    room_ = room;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Assignment> assignments_;
  std::vector<InboxRecord> inputs_;
  std::size_t assigned_ = 0;
  std::size_t revoked_ = 0;
  std::size_t refused_ = 0;
  std::size_t room_ = 1'000'000;
};

/// One process's journal with one lane.
struct Process {
  telemetry::Registry metrics;
  Notes notes;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<LaneJournal> lane;
  std::atomic<int> fatal = 0;  ///< the exit code that the journal asked for

  ~Process() {
    lane.reset();
    if (journal) {
      journal->stop();
    }
  }

  std::vector<Restored> restore(std::vector<std::string>* unfinished = nullptr) {
    EXPECT_TRUE(eventually([&] { return !notes.assignments().empty(); }));
    auto restored = lane->restore(notes.assignments(), [&](const saga::SagaState& state) {
      if (unfinished != nullptr) {
        unfinished->push_back(state.id);
      }
    });
    EXPECT_TRUE(restored) << restored.error().to_string();
    return restored.value_or(std::vector<Restored>{});
  }
};

class KafkaJournalTest : public ::testing::Test {
 protected:
  KafkaJournalTest() { EXPECT_TRUE(contracts_.add_embedded(kafka::protocol_schemas())); }

  std::unique_ptr<Process> open(const std::string& instance, const std::string& cache) {
    auto process = std::make_unique<Process>();
    auto journal = open_kafka_journal({.client = testing::kafka_client(),
                                       .topics = {.generation = generation_, .partitions = kPartitions, .command_topics = {command_topic_}},
                                       .create_topics = true,
                                       .instance = instance,
                                       .cache_folder = folder_.path() / cache,
                                       .contract_package = {},
                                       .session_timeout = std::chrono::milliseconds{6000},
                                       .on_fatal = [raw = process.get()](int code, const std::string&) { raw->fatal = code; }},
                                      contracts_, process->metrics);
    EXPECT_TRUE(journal) << journal.error().to_string();
    process->journal = std::move(*journal);
    process->lane = std::move(*process->journal->open_lane(0));
    EXPECT_TRUE(process->journal->start(process->notes));
    return process;
  }

  static saga::SagaState saga(std::uint32_t partition, std::uint64_t version = 1) {
    saga::SagaState state;
    state.partition = partition;
    state.id = saga::make_saga_id(partition, make_ulid());
    state.definition = "d";
    state.idempotency_key = state.id + "-key";
    state.input = R"({"n":1})";
    state.version = version;
    state.created_at = state.updated_at = state.deadline = wall_now();
    state.steps.emplace_back().name = "one";
    return state;
  }

  static Batch batch_of(const saga::SagaState& state, std::int64_t position) {
    Batch batch;
    batch.states.push_back(std::make_shared<const saga::SagaState>(state));
    batch.positions.push_back({.partition = state.partition, .next = position});
    return batch;
  }

  void reply(const saga::SagaState& state, std::uint32_t attempt) {
    const participant::Command command{.saga_id = state.id,
                                       .partition = state.partition,
                                       .step = "one",
                                       .attempt = attempt,
                                       .type = "Do",
                                       .destination = command_topic_,
                                       .payload = "{}",
                                       .deadline = wall_now(),
                                       .traceparent = {}};
    const kafka::MessageCodec codec(contracts_, {});
    auto producer = kafka::Producer::create(testing::kafka_client());
    const auto record = codec.encode(reply_to(command, participant::Outcome::kSuccess, "1"), command, TopicNames::of(generation_).inbox);
    ASSERT_TRUE(record) << record.error().to_string();
    const auto sent = (*producer)->send(std::vector{*record}, kTimeout);
    ASSERT_TRUE(sent) << sent.error().to_string();
  }

  static std::uint32_t attempt_of(const InboxRecord& record) { return std::get<participant::Reply>(record.body).attempt; }

  contracts::SchemaRegistry contracts_;
  std::string generation_ = testing::unique_name("t");
  std::string command_topic_ = testing::unique_name("cmd");
  testing::TemporaryFolder folder_;
};

TEST_F(KafkaJournalTest, AnotherInstanceReadsWhatWasCommitted) {
  const auto state = saga(1);
  const KeyRecord key{.partition = 1, .definition = "d", .key = "k:1", .fingerprint = "f", .saga_id = state.id, .created_at = wall_now()};
  {
    auto first = open("one", "a");
    first->restore();
    auto batch = batch_of(state, 0);
    batch.definitions.push_back({.partition = 1, .hash = "h", .body = "body"});
    batch.commands.push_back({.saga_id = state.id,
                              .partition = 1,
                              .step = "one",
                              .type = "Do",
                              .destination = command_topic_,
                              .payload = R"({"input":1})",
                              .deadline = wall_now(),
                              .traceparent = {}});
    batch.history.push_back({.saga_id = state.id,
                             .partition = 1,
                             .definition = "d",
                             .event = {.sequence = 1, .at = wall_now(), .event = "SAGA_STARTED", .step = {}, .detail = {}}});
    const auto committed = first->lane->commit(batch);
    ASSERT_TRUE(committed) << committed.error().to_string();
    EXPECT_EQ(**first->journal->load(state.id), state);
  }
  auto second = open("one", "b");
  std::vector<std::string> unfinished;
  const auto restored = second->restore(&unfinished);
  EXPECT_EQ(unfinished, std::vector{state.id});
  EXPECT_EQ(**second->journal->load(state.id), state);
  for (const auto& partition : restored) {
    EXPECT_EQ(partition.definitions.size(), partition.assignment.partition == 1 ? 1U : 0U);
  }
}

TEST_F(KafkaJournalTest, ARemovedSagaIsGoneForEveryLaterOwner) {
  const auto state = saga(saga::partition_of_key("k", kPartitions));
  {
    auto first = open("one", "a");
    first->restore();
    auto batch = batch_of(state, 0);
    batch.keys.push_back(
        {.partition = state.partition, .definition = "d", .key = "k", .fingerprint = {}, .saga_id = state.id, .created_at = wall_now()});
    ASSERT_TRUE(first->lane->commit(batch));
    ASSERT_TRUE(*first->journal->find_key("d", "k"));
    Batch removal;
    removal.removals.push_back({.partition = state.partition, .saga_id = state.id, .definition = "d", .idempotency_key = "k"});
    removal.positions.push_back({.partition = state.partition, .next = 0});
    ASSERT_TRUE(first->lane->commit(removal));
    EXPECT_EQ(*first->journal->load(state.id), nullptr);
  }
  auto second = open("one", "b");
  second->restore();
  EXPECT_EQ(*second->journal->load(state.id), nullptr);
  EXPECT_FALSE(*second->journal->find_key("d", "k"));
}

TEST_F(KafkaJournalTest, ARestartReadsOnlyWhatItsCacheLacks) {
  {
    auto first = open("one", "a");
    first->restore();
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(first->lane->commit(batch_of(saga(2), 0)));
    }
  }
  auto again = open("one", "a");
  std::vector<std::string> unfinished;
  again->restore(&unfinished);
  EXPECT_EQ(unfinished.size(), 5U);
  EXPECT_EQ(again->metrics.counter({"outrigger_kafka_restored_records_total", "Records read from the state topic when partitions were taken over."})
                .value(),
            0U);
}

TEST_F(KafkaJournalTest, InputComesOnceAfterItsPositionIsCommitted) {
  const auto state = saga(3);
  auto first = open("one", "a");
  first->restore();
  reply(state, 1);
  reply(state, 2);
  ASSERT_TRUE(eventually([&] { return first->notes.inputs().size() == 2; }));
  const auto inputs = first->notes.inputs();
  EXPECT_EQ(attempt_of(inputs[0]), 1U);
  EXPECT_EQ(attempt_of(inputs[1]), 2U);
  ASSERT_TRUE(first->lane->commit(batch_of(state, inputs[0].next_position)));
  // What was taken and not committed comes again, in a new session.
  first->restore();
  ASSERT_TRUE(eventually([&] { return first->notes.inputs().size() == 3; }));
  const auto again = first->notes.inputs().back();
  EXPECT_EQ(attempt_of(again), 2U);
  EXPECT_GT(again.session, inputs[1].session);
}

TEST_F(KafkaJournalTest, InputWithoutRoomIsOfferedAgainInOrder) {
  const auto state = saga(0);
  auto process = open("one", "a");
  process->notes.set_room(1);
  process->restore();
  for (std::uint32_t attempt = 1; attempt <= 5; ++attempt) {
    reply(state, attempt);
  }
  ASSERT_TRUE(eventually([&] { return process->notes.refused() > 3; }));
  process->notes.set_room(100);
  ASSERT_TRUE(eventually([&] { return process->notes.inputs().size() >= 5; }));
  const auto inputs = process->notes.inputs();
  ASSERT_EQ(inputs.size(), 5U);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(attempt_of(inputs[i]), i + 1);
  }
}

TEST_F(KafkaJournalTest, WhatCannotBeReadIsADeadLetter) {
  auto process = open("one", "a");
  process->restore();
  auto producer = kafka::Producer::create(testing::kafka_client());
  const kafka::OutgoingRecord garbage{
      .topic = TopicNames::of(generation_).inbox, .partition = 2, .key = "k", .value = "\x01garbage", .headers = {{"h", "v"}}};
  ASSERT_TRUE((*producer)->send(std::vector{garbage}, kTimeout));
  ASSERT_TRUE(eventually([&] { return process->notes.inputs().size() == 1; }));
  const auto input = process->notes.inputs().front();
  const auto* letter = std::get_if<DeadLetter>(&input.body);
  ASSERT_NE(letter, nullptr);
  EXPECT_EQ(letter->value, garbage.value);
  EXPECT_EQ(letter->headers, garbage.headers);
  EXPECT_NE(letter->reason.find("saga-id is missing"), std::string::npos) << letter->reason;
  Batch batch;
  batch.dead_letters.push_back(*letter);
  batch.positions.push_back({.partition = 2, .next = input.next_position});
  const auto committed = process->lane->commit(batch);
  EXPECT_TRUE(committed) << committed.error().to_string();
}

TEST_F(KafkaJournalTest, AStaleOwnerWritesNothing) {
  auto first = open("one", "a");
  first->restore();
  const auto state = saga(1);
  ASSERT_TRUE(first->lane->commit(batch_of(state, 0)));
  auto second = open("two", "b");
  ASSERT_TRUE(eventually([&] { return first->notes.assigned() >= 2 && second->notes.assigned() >= 1; }));
  second->restore();
  // The first lane has not restored since: whatever it still wants to write is of the old assignment.
  auto newer = state;
  newer.version = 2;
  const auto refused = first->lane->commit(batch_of(newer, 0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAborted);
  first->restore();
  const auto& owner = first->journal->load(state.id) ? first : second;
  EXPECT_EQ((**owner->journal->load(state.id)).version, 1U);
  const auto& other = first->journal->load(state.id) ? second : first;
  EXPECT_EQ(other->journal->load(state.id).error().code, ErrorCode::kUnavailable);
}

TEST_F(KafkaJournalTest, ASecondProcessOfTheSameNameEndsTheFirst) {
  auto first = open("one", "a");
  first->restore();
  auto second = open("one", "b");
  second->restore();
  EXPECT_TRUE(eventually([&] { return first->fatal != 0; }));
  EXPECT_EQ(first->fatal, 78);
  EXPECT_FALSE(first->journal->health());
  const auto refused = first->lane->commit(batch_of(saga(1), 0));
  EXPECT_FALSE(refused);
  EXPECT_TRUE(second->lane->commit(batch_of(saga(1), 0)));
}

TEST_F(KafkaJournalTest, RefusesTopicsThatDoNotFit) {
  auto admin = kafka::Admin::create(testing::kafka_client());
  auto topics = declare_topics({.generation = generation_, .partitions = kPartitions, .command_topics = {}}, 1);
  topics[1].config["cleanup.policy"] = "delete";
  ASSERT_TRUE((*admin)->create_topics(topics, kTimeout));
  for (const auto& topic : topics) {
    ASSERT_TRUE(*(*admin)->await(topic.name, kTimeout, kTimeout));
  }
  telemetry::Registry metrics;
  const auto journal = open_kafka_journal({.client = testing::kafka_client(),
                                           .topics = {.generation = generation_, .partitions = kPartitions, .command_topics = {}},
                                           .create_topics = true,  // leaves what exists as it is, and waits for brokers that do not know it yet
                                           .instance = "one",
                                           .cache_folder = folder_.path() / "a",
                                           .contract_package = {},
                                           .on_fatal = {}},
                                          contracts_, metrics);
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_NE(journal.error().message.find("cleanup.policy is 'delete'"), std::string::npos) << journal.error().message;
}

}  // namespace
}  // namespace outrigger::journal
