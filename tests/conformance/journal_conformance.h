#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/runtime/ids.h"
#include "service/journal/journal.h"

/// What every journal must hold. A journal's tests include this header once and instantiate the suite:
///
///     INSTANTIATE_TEST_SUITE_P(Embedded, JournalConformance, ::testing::Values(HarnessFactory{"embedded", make_harness}), harness_name);
namespace outrigger::testing {

/// Opens journals over one storage. Each call of open() is another process (another instance name).
class JournalHarness {
 public:
  virtual ~JournalHarness() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<journal::Journal>> open() = 0;
  /// Brings a reply into the partition's durable input. False: the journal has none.
  [[nodiscard]] virtual bool send_input(const participant::Reply& reply) = 0;
  /// Called while a test waits, for journals without threads.
  virtual void pump(journal::Journal&) {}
  /// How long the slowest step of this journal may take.
  [[nodiscard]] virtual std::chrono::seconds patience() const { return std::chrono::seconds(10); }
};

struct HarnessFactory {
  std::string name;
  std::function<std::unique_ptr<JournalHarness>()> make;
};
inline void PrintTo(const HarnessFactory& factory, std::ostream* out) { *out << factory.name; }
inline std::string harness_name(const ::testing::TestParamInfo<HarnessFactory>& info) { return info.param.name; }

/// One process: a journal, its listener and one lane that owns all partitions.
class Member final : public journal::Listener {
 public:
  Member(JournalHarness& harness, std::unique_ptr<journal::Journal> journal) : harness_(harness), journal_(std::move(journal)) {}
  ~Member() override { journal_->stop(); }

  /// Starts, waits for every partition and restores.
  [[nodiscard]] Result<void> join() {
    auto lane = journal_->open_lane(0);
    if (!lane) {
      return std::unexpected(lane.error());
    }
    lane_ = std::move(*lane);
    if (auto started = journal_->start(*this); !started) {
      return started;
    }
    if (!eventually([&] { return assignments().size() == journal_->partitions(); })) {
      return fail(ErrorCode::kDeadlineExceeded, "not every partition was assigned");
    }
    return restore();
  }

  [[nodiscard]] Result<void> restore() {
    unfinished.clear();
    const auto owned = assignments();
    auto all = lane_->restore(owned, [&](const saga::SagaState& state) { unfinished[state.id] = state; });
    if (!all) {
      return std::unexpected(all.error());
    }
    restored.clear();
    for (auto& each : *all) {
      restored[each.assignment.partition] = std::move(each);
    }
    return {};
  }

  [[nodiscard]] bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + harness_.patience();
    while (std::chrono::steady_clock::now() < deadline) {
      harness_.pump(*journal_);
      if (condition()) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  [[nodiscard]] Result<void> commit(journal::Batch batch) { return lane_->commit(batch); }
  [[nodiscard]] journal::Journal& journal() { return *journal_; }
  [[nodiscard]] std::vector<journal::InboxRecord> received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }

  void on_assigned(std::span<const journal::Assignment> assignments) override {
    const std::lock_guard lock(mutex_);
    for (const auto& assignment : assignments) {
      assignments_[assignment.partition] = assignment;
    }
  }
  void on_revoked(std::span<const std::uint32_t> partitions) override {
    const std::lock_guard lock(mutex_);
    for (const auto partition : partitions) {
      assignments_.erase(partition);
    }
  }
  [[nodiscard]] bool on_input(journal::InboxRecord record) override {
    const std::lock_guard lock(mutex_);
    received_.push_back(std::move(record));
    return true;
  }

  std::map<std::string, saga::SagaState> unfinished;  ///< what the last restore showed
  std::map<std::uint32_t, journal::Restored> restored;

 private:
  [[nodiscard]] std::vector<journal::Assignment> assignments() {
    const std::lock_guard lock(mutex_);
    std::vector<journal::Assignment> all;
    for (const auto& [partition, assignment] : assignments_) {
      all.push_back(assignment);
    }
    return all;
  }

  JournalHarness& harness_;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<journal::LaneJournal> lane_;
  std::mutex mutex_;
  std::map<std::uint32_t, journal::Assignment> assignments_;
  std::vector<journal::InboxRecord> received_;
};

class JournalConformance : public ::testing::TestWithParam<HarnessFactory> {
 protected:
  JournalConformance() : harness_(GetParam().make()) {}

  [[nodiscard]] std::unique_ptr<Member> join() {
    auto journal = harness_->open();
    EXPECT_TRUE(journal.has_value()) << (journal ? "" : journal.error().to_string());
    if (!journal) {
      return nullptr;
    }
    auto member = std::make_unique<Member>(*harness_, std::move(*journal));
    const auto joined = member->join();
    EXPECT_TRUE(joined.has_value()) << (joined ? "" : joined.error().to_string());
    return member;
  }

  /// A saga with something in every field; `age` seconds younger than the oldest.
  static saga::SagaState make_saga(std::uint32_t partition, saga::SagaStatus status = saga::SagaStatus::kRunning, int age = 0) {
    saga::SagaState state;
    state.id = saga::make_saga_id(partition, make_ulid());
    state.partition = partition;
    state.definition = "order-fulfilment";
    state.definition_version = 3;
    state.definition_hash = "abc";
    state.idempotency_key = "key of " + state.id;
    state.business_key = "order-7";
    state.search_terms = {"C-7"};
    state.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    state.input = R"({"order_id":"7","text":"z\u0000 ß"})";
    state.status = status;
    state.version = 1;
    state.created_at = WallTime(std::chrono::seconds(1'700'000'000 + age));
    state.updated_at = state.created_at;
    state.deadline = state.created_at + std::chrono::minutes(1);
    state.completions = 1;
    state.steps.resize(2);
    state.steps[0] = {.name = "one", .status = saga::StepStatus::kSucceeded, .attempt = 2, .completion_sequence = 1, .output = R"({"a":[1]})"};
    state.steps[1] = {
        .name = "two", .status = saga::StepStatus::kUnknown, .attempt = 1, .next_at = state.created_at, .output = {}, .error = "no \xff answer"};
    state.history = {{.sequence = 1, .at = state.created_at, .event = "SAGA_STARTED", .step = {}, .detail = {}}};
    return state;
  }

  static journal::KeyRecord key_of(const saga::SagaState& state) {
    return {.partition = state.partition,
            .definition = state.definition,
            .key = state.idempotency_key,
            .fingerprint = "f00d",
            .saga_id = state.id,
            .created_at = state.created_at};
  }

  /// The batch that stores these states, without moving any position.
  static journal::Batch storing(Member& member, const std::vector<saga::SagaState>& states) {
    journal::Batch batch;
    for (const auto& state : states) {
      batch.states.push_back(std::make_shared<const saga::SagaState>(state));
      if (std::ranges::find(batch.positions, state.partition, &journal::InputPosition::partition) == batch.positions.end()) {
        batch.positions.push_back({.partition = state.partition, .next = member.restored[state.partition].position});
      }
    }
    return batch;
  }

  /// An idempotency key that belongs to a partition.
  static std::string key_in(std::uint32_t partition, std::uint32_t partitions) {
    for (int i = 0;; ++i) {
      if (auto key = "key-" + std::to_string(i); saga::partition_of_key(key, partitions) == partition) {
        return key;
      }
    }
  }

  std::unique_ptr<JournalHarness> harness_;
};

TEST_P(JournalConformance, IsEmptyAtFirst) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  EXPECT_TRUE(member->unfinished.empty());
  EXPECT_EQ(member->restored.size(), member->journal().partitions());
  EXPECT_EQ(member->journal().load("p0-01HZX3V6Q8M2T4R9K5W7Y1B3DC").value(), nullptr);
  EXPECT_FALSE(member->journal().find_key("order-fulfilment", "none").value().has_value());
  EXPECT_TRUE(member->journal().list({}).value().sagas.empty());
}

TEST_P(JournalConformance, RestoresExactlyWhatWasCommitted) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  const auto first = make_saga(0);
  auto second = make_saga(1, saga::SagaStatus::kStuck);
  const auto finished = make_saga(1, saga::SagaStatus::kCompleted);
  ASSERT_TRUE(member->commit(storing(*member, {first, second, finished})).has_value());
  second.version = 2;
  second.status = saga::SagaStatus::kCompensating;
  second.history.push_back({.sequence = 2, .at = second.created_at, .event = "OPERATOR_ACTION", .step = "two", .detail = "retry"});
  ASSERT_TRUE(member->commit(storing(*member, {second})).has_value());
  member.reset();

  member = join();
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->unfinished.size(), 2U);
  EXPECT_EQ(member->unfinished[first.id], first);
  EXPECT_EQ(member->unfinished[second.id], second);
  EXPECT_EQ(*member->journal().load(finished.id).value(), finished);
}

TEST_P(JournalConformance, ReadsSeeACommitAtOnce) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  auto state = make_saga(0);
  ASSERT_TRUE(member->commit(storing(*member, {state})).has_value());
  EXPECT_EQ(*member->journal().load(state.id).value(), state);
  state.version = 2;
  ASSERT_TRUE(member->commit(storing(*member, {state})).has_value());
  EXPECT_EQ(member->journal().load(state.id).value()->version, 2U);
}

TEST_P(JournalConformance, KeepsKeyRecordsAndDefinitionsOfTheirPartition) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  const auto partitions = member->journal().partitions();
  auto state = make_saga(partitions - 1);
  state.idempotency_key = key_in(partitions - 1, partitions);
  auto batch = storing(*member, {state});
  batch.keys.push_back(key_of(state));
  batch.definitions.push_back({.partition = state.partition, .hash = "abc", .body = "{\"kind\":\"SagaDefinition\"}"});
  ASSERT_TRUE(member->commit(batch).has_value());
  member.reset();

  member = join();
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->journal().find_key(state.definition, state.idempotency_key).value(), key_of(state));
  EXPECT_FALSE(member->journal().find_key("another", state.idempotency_key).value().has_value());
  EXPECT_THAT(member->restored[state.partition].definitions, ::testing::ElementsAre(batch.definitions[0]));
  EXPECT_TRUE(member->restored[0].definitions.empty());
}

TEST_P(JournalConformance, ManyRecordsOfOneBatchAllCome) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  std::vector<saga::SagaState> states;
  for (std::uint32_t i = 0; i < 256; ++i) {
    states.push_back(make_saga(i % member->journal().partitions()));
  }
  ASSERT_TRUE(member->commit(storing(*member, states)).has_value());
  member.reset();
  member = join();
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->unfinished.size(), states.size());
}

TEST_P(JournalConformance, RestoreAgainBeginsANewSession) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  const auto state = make_saga(0);
  ASSERT_TRUE(member->commit(storing(*member, {state})).has_value());
  const auto session = member->restored[0].session;
  ASSERT_TRUE(member->restore().has_value());
  EXPECT_NE(member->restored[0].session, session);
  EXPECT_EQ(member->unfinished[state.id], state);
  EXPECT_TRUE(member->commit(storing(*member, {state})).has_value());
}

TEST_P(JournalConformance, InputComesAgainUnlessItsPositionWasCommitted) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  const auto state = make_saga(0);
  const auto reply = [&](std::string step) {
    participant::Reply made;
    made.saga_id = state.id;
    made.partition = 0;
    made.step = std::move(step);
    return made;
  };
  if (!harness_->send_input(reply("one"))) {
    GTEST_SKIP() << "this journal has no durable input";
  }
  ASSERT_TRUE(harness_->send_input(reply("two")));
  ASSERT_TRUE(member->eventually([&] { return member->received().size() == 2; }));
  const auto first = member->received()[0];
  EXPECT_EQ(first.session, member->restored[0].session);
  EXPECT_EQ(std::get<participant::Reply>(first.body).step, "one");

  auto batch = storing(*member, {state});
  batch.positions[0].next = first.next_position;
  ASSERT_TRUE(member->commit(batch).has_value());
  ASSERT_TRUE(member->restore().has_value());
  EXPECT_EQ(member->restored[0].position, first.next_position);
  ASSERT_TRUE(member->eventually([&] { return member->received().size() == 3; }));
  const auto again = member->received()[2];
  EXPECT_EQ(again.session, member->restored[0].session);
  EXPECT_EQ(std::get<participant::Reply>(again.body).step, "two");
  member.reset();

  member = join();
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->restored[0].position, first.next_position);
  ASSERT_TRUE(member->eventually([&] { return !member->received().empty(); }));
  EXPECT_EQ(std::get<participant::Reply>(member->received()[0].body).step, "two");
}

TEST_P(JournalConformance, ListsNewestFirstInPages) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  std::vector<saga::SagaState> states;
  for (int age = 0; age < 5; ++age) {
    states.push_back(make_saga(static_cast<std::uint32_t>(age) % member->journal().partitions(),
                               age % 2 == 0 ? saga::SagaStatus::kRunning : saga::SagaStatus::kCompleted, age));
  }
  states[4].definition = "another";
  states[3].business_key = "order-8";
  states[1].search_terms = {"C-1", "PADDLE"};
  states[3].search_terms = {"C-1"};
  ASSERT_TRUE(member->commit(storing(*member, states)).has_value());
  const auto ids = [&](journal::ListQuery query) {
    std::vector<std::string> all;
    do {
      const auto page = member->journal().list(query).value();
      EXPECT_LE(page.sagas.size(), query.limit);
      for (const auto& saga : page.sagas) {
        all.push_back(saga->id);
      }
      query.cursor = page.next_cursor;
    } while (!query.cursor.empty());
    return all;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(ids({.limit = 2}), ElementsAre(states[4].id, states[3].id, states[2].id, states[1].id, states[0].id));
  EXPECT_THAT(ids({.status = saga::SagaStatus::kRunning, .limit = 1}), ElementsAre(states[4].id, states[2].id, states[0].id));
  EXPECT_THAT(ids({.definition = "another"}), ElementsAre(states[4].id));
  EXPECT_THAT(ids({.business_key = "order-8"}), ElementsAre(states[3].id));
  EXPECT_TRUE(ids({.business_key = "order-"}).empty());
  EXPECT_THAT(ids({.search_term = "C-1"}), ElementsAre(states[3].id, states[1].id));
  EXPECT_THAT(ids({.search_term = "PADDLE"}), ElementsAre(states[1].id));
  EXPECT_TRUE(ids({.search_term = "C"}).empty());
  const auto middle = states[2].created_at;
  EXPECT_THAT(ids({.created_before = middle, .limit = 1}), ElementsAre(states[1].id, states[0].id));
  EXPECT_THAT(ids({.created_since = middle, .limit = 1}), ElementsAre(states[4].id, states[3].id, states[2].id));
  EXPECT_THAT(ids({.status = saga::SagaStatus::kRunning, .created_before = states[4].created_at, .created_since = middle}),
              ElementsAre(states[2].id));
  const auto long_ago = WallTime(std::chrono::milliseconds(-5));
  EXPECT_EQ(ids({.created_since = long_ago}).size(), 5U);
  EXPECT_TRUE(ids({.created_before = long_ago}).empty());
  EXPECT_EQ(member->journal().list({.cursor = "no cursor"}).error().code, ErrorCode::kInvalidArgument);
}

TEST_P(JournalConformance, AChangedStatusMovesInTheListing) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  auto state = make_saga(0);
  ASSERT_TRUE(member->commit(storing(*member, {state})).has_value());
  state.status = saga::SagaStatus::kCompleted;
  state.version = 2;
  ASSERT_TRUE(member->commit(storing(*member, {state})).has_value());
  EXPECT_TRUE(member->journal().list({.status = saga::SagaStatus::kRunning}).value().sagas.empty());
  EXPECT_EQ(member->journal().list({.status = saga::SagaStatus::kCompleted}).value().sagas.size(), 1U);
}

TEST_P(JournalConformance, RemovedSagasAreGone) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  const auto partitions = member->journal().partitions();
  auto state = make_saga(0, saga::SagaStatus::kCompleted);
  state.idempotency_key = key_in(0, partitions);
  auto batch = storing(*member, {state});
  batch.keys.push_back(key_of(state));
  ASSERT_TRUE(member->commit(batch).has_value());
  EXPECT_TRUE(member->journal().finished_before(0, state.updated_at, 10).value().empty());
  EXPECT_THAT(member->journal().finished_before(0, state.updated_at + std::chrono::milliseconds(1), 10).value(), ::testing::ElementsAre(state.id));

  journal::Batch removing;
  removing.removals.push_back({.partition = 0, .saga_id = state.id, .definition = state.definition, .idempotency_key = state.idempotency_key});
  removing.positions.push_back({.partition = 0, .next = member->restored[0].position});
  ASSERT_TRUE(member->commit(removing).has_value());
  member.reset();

  member = join();
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->journal().load(state.id).value(), nullptr);
  EXPECT_FALSE(member->journal().find_key(state.definition, state.idempotency_key).value().has_value());
  EXPECT_TRUE(member->journal().list({}).value().sagas.empty());
  EXPECT_TRUE(member->journal().list({.business_key = state.business_key}).value().sagas.empty());
  EXPECT_TRUE(member->journal().list({.search_term = "C-7"}).value().sagas.empty());
  EXPECT_TRUE(member->journal().finished_before(0, WallTime(std::chrono::seconds(1'900'000'000)), 10).value().empty());
}

TEST_P(JournalConformance, OfTwoProcessesOnlyOneWrites) {
  auto first = join();
  ASSERT_NE(first, nullptr);
  const auto before = make_saga(0);
  ASSERT_TRUE(first->commit(storing(*first, {before})).has_value());

  auto opened = harness_->open();
  const auto refused_or_fenced = make_saga(0);
  if (!opened) {
    // A lock is a fence too: the second is refused, the first goes on.
    EXPECT_EQ(opened.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_TRUE(first->commit(storing(*first, {refused_or_fenced})).has_value());
    return;
  }
  auto stale = storing(*first, {refused_or_fenced});
  auto second = std::make_unique<Member>(*harness_, std::move(*opened));
  // The first is told to give its partitions back, or is not asked at all; either way it writes no more once the second owns them.
  const auto joined = second->join();
  ASSERT_TRUE(joined.has_value()) << joined.error().to_string();
  EXPECT_EQ(second->unfinished[before.id], before);
  const auto fenced = first->commit(stale);
  ASSERT_FALSE(fenced.has_value());
  EXPECT_EQ(fenced.error().code, ErrorCode::kAborted);
  ASSERT_TRUE(second->commit(storing(*second, {make_saga(1)})).has_value());
  ASSERT_TRUE(second->restore().has_value());
  EXPECT_FALSE(second->unfinished.contains(refused_or_fenced.id));
}

TEST_P(JournalConformance, WritesNothingAfterItWasStopped) {
  auto member = join();
  ASSERT_NE(member, nullptr);
  const auto state = make_saga(0);
  const auto batch = storing(*member, {state});
  member->journal().stop();
  const auto written = member->commit(batch);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kAborted);
  member.reset();
  member = join();
  ASSERT_NE(member, nullptr);
  EXPECT_TRUE(member->unfinished.empty());
}

}  // namespace outrigger::testing
