#include "service/saga/engine.h"

#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/telemetry/exposition.h"
#include "lib/telemetry/metrics.h"
#include "service/journal/embedded_journal.h"
#include "tests/support/saga_definitions.h"
#include "tests/support/temporary_folder.h"

namespace outrigger::saga {
namespace {

using namespace std::chrono_literals;
using participant::Command;
using participant::Direction;
using participant::Outcome;
using ::testing::HasSubstr;

/// Keeps commands for the test to answer; can be full.
class HeldCommands final : public CommandTransport {
 public:
  [[nodiscard]] bool offer(const Command& command) override {
    const std::lock_guard lock(mutex_);
    if (room_ == 0 || command.destination == full_) {
      return false;
    }
    --room_;
    commands_.push_back(command);
    return true;
  }
  std::optional<Command> take() {
    const std::lock_guard lock(mutex_);
    if (commands_.empty()) {
      return std::nullopt;
    }
    auto command = std::move(commands_.front());
    commands_.pop_front();
    return command;
  }
  void set_room(std::size_t room) {
    const std::lock_guard lock(mutex_);
    room_ = room;
  }
  /// This participant alone has no room.
  void set_full(std::string destination) {
    const std::lock_guard lock(mutex_);
    full_ = std::move(destination);
  }

 private:
  std::mutex mutex_;
  std::deque<Command> commands_;
  std::size_t room_ = 1'000'000;
  std::string full_;
};

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { open(); }

  void open(EngineSettings settings = {}) {
    journal_ = std::move(journal::open_embedded_journal({.folder = folder_.path(), .partitions = 8}).value());
    registry_ = std::make_unique<telemetry::Registry>();
    Catalog catalog;
    ASSERT_TRUE(catalog.add(outrigger::testing::make_sequence()).has_value());
    settings.lanes = 2;
    engine_ = std::make_unique<Engine>(settings, std::move(catalog), *journal_, &transport_, *registry_);
    ASSERT_TRUE(engine_->run().has_value());
    ASSERT_TRUE(eventually([&] { return engine_->ready().has_value(); }));
  }

  void close() {
    engine_.reset();
    journal_.reset();
  }

  static bool eventually(const std::function<bool()>& condition) {
    for (const auto deadline = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < deadline;
         std::this_thread::sleep_for(1ms)) {
      if (condition()) {
        return true;
      }
    }
    return false;
  }

  Result<Started> start(std::string key, std::string input = R"({"order":1})") {
    std::promise<Result<Started>> answer;
    engine_->start({.definition = "sequence", .idempotency_key = key, .business_key = "order-" + key, .input = std::move(input), .traceparent = {}},
                   [&](Result<Started> started) { answer.set_value(std::move(started)); });
    return answer.get_future().get();
  }

  Result<SagaPointer> wait(const std::string& id, std::optional<std::uint64_t> after, MonotonicTime::duration time = 20s) {
    std::promise<Result<SagaPointer>> answer;
    engine_->wait(id, {.after_version = after, .deadline = std::chrono::steady_clock::now() + time},
                  [&](Result<SagaPointer> saga) { answer.set_value(std::move(saga)); });
    return answer.get_future().get();
  }

  Command next_command() {
    std::optional<Command> command;
    EXPECT_TRUE(eventually([&] { return (command = transport_.take()).has_value(); }));
    return command.value_or(Command{});
  }

  void reply(const Command& command, Outcome outcome = Outcome::kSuccess, std::string output = "{}") {
    ASSERT_TRUE(engine_->deliver(participant::reply_to(command, outcome, std::move(output), "because")).has_value());
  }

  outrigger::testing::TemporaryFolder folder_;
  HeldCommands transport_;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<telemetry::Registry> registry_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, RunsASagaToItsEnd) {
  const auto started = start("a");
  ASSERT_TRUE(started.has_value()) << started.error().to_string();
  EXPECT_TRUE(started->created);
  for (int i = 0; i < 3; ++i) {
    reply(next_command());
  }
  const auto saga = wait(started->saga->id, std::nullopt);
  ASSERT_TRUE(saga.has_value());
  EXPECT_EQ((*saga)->status, SagaStatus::kCompleted);
  EXPECT_EQ(engine_->find_by_business_key("sequence", "order-a").value()->id, started->saga->id);
}

TEST_F(EngineTest, EverySagaOfACommitIsStoredUnderItsOwnId) {
  constexpr std::size_t kSagas = 200;
  std::mutex mutex;
  std::map<std::string, std::string> ids;
  for (std::size_t i = 0; i < kSagas; ++i) {
    const auto key = std::to_string(i);
    engine_->start({.definition = "sequence", .idempotency_key = key, .business_key = key, .input = "{}", .traceparent = {}},
                   [&, key](Result<Started> started) {
                     const std::lock_guard lock(mutex);
                     ids[key] = started ? started->saga->id : started.error().to_string();
                   });
  }
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return ids.size() == kSagas;
  }));
  for (const auto& [key, id] : ids) {
    const auto saga = engine_->get(id);
    ASSERT_TRUE(saga.has_value()) << id;
    EXPECT_EQ((*saga)->business_key, key);
  }
}

TEST_F(EngineTest, CountersOfAnObjectiveAreThereBeforeItsFirstEvent) {
  const auto families = registry_->Collect();
  const auto scrape = telemetry::serialize(families, telemetry::ExpositionFormat::kPrometheusText);
  for (const auto* counter : {"outrigger_sagas_started_total", "outrigger_sagas_stuck_total", "outrigger_sagas_deadline_exceeded_total"}) {
    EXPECT_THAT(scrape, HasSubstr(std::string(counter) + "{definition=\"" + outrigger::testing::make_sequence().name + "\"} 0"));
  }
}

TEST_F(EngineTest, CompensatesInReverse) {
  const auto started = start("a").value();
  reply(next_command());
  reply(next_command());
  reply(next_command(), Outcome::kFailed);
  const auto first = next_command();
  EXPECT_EQ(first.type, "Undo2");
  reply(first);
  const auto second = next_command();
  EXPECT_EQ(second.type, "Undo1");
  reply(second);
  EXPECT_EQ(wait(started.saga->id, std::nullopt).value()->status, SagaStatus::kCompensated);
}

TEST_F(EngineTest, SameKeyAnswersTheSameSagaAndRefusesAnotherPayload) {
  const auto first = start("a", R"({"x": 1, "y": 2})").value();
  const auto again = start("a", R"({"y":2,"x":1})");
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->saga->id, first.saga->id);
  const auto other = start("a", R"({"x": 3})");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, ErrorCode::kAlreadyExists);
}

TEST_F(EngineTest, RefusesInputThatIsNoObject) {
  for (const char* input : {"", "[]", "{", "1", "{\"a\":\"\xff\"}"}) {
    const auto started = start("a", input);
    ASSERT_FALSE(started.has_value()) << input;
    EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(start("a", "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(start("with space").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(EngineTest, SendsWhatWasInFlightAgainAfterARestart) {
  const auto started = start("a").value();
  const auto before = next_command();
  close();
  open();
  const auto again = next_command();
  EXPECT_EQ(again.idempotency_key(), before.idempotency_key());
  EXPECT_EQ(again.payload, before.payload);
  EXPECT_EQ(again.attempt, before.attempt);
  reply(again);
  reply(next_command());
  reply(next_command());
  EXPECT_EQ(wait(started.saga->id, std::nullopt).value()->status, SagaStatus::kCompleted);
}

TEST_F(EngineTest, WaitsWithoutAThreadForEachCaller) {
  const auto started = start("a").value();
  std::vector<std::future<Result<SagaPointer>>> answers;
  for (int i = 0; i < 1000; ++i) {
    auto answer = std::make_shared<std::promise<Result<SagaPointer>>>();
    answers.push_back(answer->get_future());
    engine_->wait(started.saga->id, {.after_version = {}, .deadline = std::chrono::steady_clock::now() + 20s},
                  [answer](Result<SagaPointer> saga) { answer->set_value(std::move(saga)); });
  }
  for (int i = 0; i < 3; ++i) {
    reply(next_command());
  }
  for (auto& answer : answers) {
    EXPECT_EQ(answer.get().value()->status, SagaStatus::kCompleted);
  }
}

TEST_F(EngineTest, WaitEndsAtItsDeadlineWithTheSagaAsItStands) {
  const auto started = start("a").value();
  const auto saga = wait(started.saga->id, std::nullopt, 5ms);
  ASSERT_TRUE(saga.has_value());
  EXPECT_EQ((*saga)->status, SagaStatus::kRunning);
}

TEST_F(EngineTest, WaitAfterAVersionAnswersTheNextChange) {
  const auto started = start("a").value();
  reply(next_command());
  const auto saga = wait(started.saga->id, started.saga->version);
  ASSERT_TRUE(saga.has_value());
  EXPECT_GT((*saga)->version, started.saga->version);
}

TEST_F(EngineTest, UnknownSagasAreNotFound) {
  EXPECT_EQ(engine_->get("p1-01HZX3V6Q8M2T4R9K5W7Y1B3DC").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(engine_->get("p9999-01HZX3V6Q8M2T4R9K5W7Y1B3DC").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine_->get("../etc").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(wait("p1-01HZX3V6Q8M2T4R9K5W7Y1B3DC", std::nullopt).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(engine_->find_by_business_key("sequence", "none").error().code, ErrorCode::kNotFound);
}

TEST_F(EngineTest, CommandsWithoutRoomAreOfferedAgain) {
  transport_.set_room(0);
  const auto started = start("a").value();
  EXPECT_FALSE(transport_.take().has_value());
  transport_.set_room(100);
  for (int i = 0; i < 3; ++i) {
    reply(next_command());
  }
  EXPECT_EQ(wait(started.saga->id, std::nullopt).value()->status, SagaStatus::kCompleted);
}

TEST_F(EngineTest, AParticipantWithoutRoomHoldsNobodyElseUp) {
  const auto through = start("through").value();
  const auto first = next_command();
  transport_.set_full(first.destination);
  std::vector<Started> held;
  for (int i = 0; i < 16; ++i) {  // in every lane
    held.push_back(start(std::format("held-{}", i)).value());
  }
  reply(first);
  reply(next_command());
  reply(next_command());
  EXPECT_EQ(wait(through.saga->id, std::nullopt).value()->status, SagaStatus::kCompleted);
  EXPECT_FALSE(transport_.take().has_value());

  transport_.set_full({});
  std::set<std::string> keys;
  for (std::size_t i = 0; i < held.size(); ++i) {
    keys.insert(next_command().idempotency_key());
  }
  EXPECT_EQ(keys.size(), held.size()) << "each is sent once, when there is room";
}

TEST_F(EngineTest, AfterARestartAParticipantWithoutRoomHoldsNobodyElseUp) {
  const auto through = start("through").value();
  const auto first = next_command();
  reply(first);
  ASSERT_TRUE(eventually([&] { return transport_.take().has_value(); }));
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(start(std::format("held-{}", i)).has_value());
  }
  close();
  while (transport_.take()) {
  }
  transport_.set_full(first.destination);
  open();
  reply(next_command());
  reply(next_command());
  EXPECT_EQ(wait(through.saga->id, std::nullopt).value()->status, SagaStatus::kCompleted);
}

TEST_F(EngineTest, OperatorEndsAStuckUndo) {
  const auto started = start("a").value();
  reply(next_command());
  reply(next_command(), Outcome::kFailed);
  reply(next_command(), Outcome::kFailed);
  ASSERT_EQ(wait(started.saga->id, std::nullopt).value()->status, SagaStatus::kStuck);
  EXPECT_TRUE(eventually([&] { return engine_->stats().stuck == 1; }));
  std::promise<Result<SagaPointer>> answer;
  engine_->act(started.saga->id, {.operation = Operation::kComplete, .actor = "ann", .reason = "called them"},
               [&](Result<SagaPointer> saga) { answer.set_value(std::move(saga)); });
  const auto saga = answer.get_future().get();
  ASSERT_TRUE(saga.has_value()) << saga.error().to_string();
  EXPECT_EQ((*saga)->status, SagaStatus::kCompensated);
  EXPECT_THAT(to_json(**saga), HasSubstr("complete by ann: called them"));
}

TEST_F(EngineTest, FinishedSagasAndTheirKeysGoAfterTheirRetention) {
  close();
  open({.retention = 0ms});
  const auto started = start("a").value();
  for (int i = 0; i < 3; ++i) {
    reply(next_command());
  }
  ASSERT_EQ(wait(started.saga->id, std::nullopt).value()->status, SagaStatus::kCompleted);
  close();
  open({.retention = 0ms});  // the sweep comes with the first turn
  EXPECT_TRUE(eventually([&] { return !engine_->get(started.saga->id).has_value(); }));
  EXPECT_TRUE(start("a").value().created);
}

TEST_F(EngineTest, ADefinitionAddedWhileRunningIsUsedByLaterStartsAndSurvivesARestart) {
  const auto before = start("a").value();
  auto second = outrigger::testing::make_sequence({.steps = 1}).body;
  second.replace(second.find("\"version\":1"), 11, "\"version\":2");
  Catalog found;
  ASSERT_TRUE(found.add(parse_definition(second, "second").value()).has_value());
  ASSERT_EQ(engine_->add_definitions(found).value().size(), 1U);
  EXPECT_TRUE(engine_->add_definitions(found).value().empty()) << "it is known by now";
  const auto after = start("b").value();
  EXPECT_EQ(after.saga->definition_version, 2U);
  close();
  open();  // without the second version: the sagas that run bring it
  for (int i = 0; i < 4; ++i) {
    reply(next_command());
  }
  EXPECT_EQ(wait(before.saga->id, std::nullopt).value()->definition_version, 1U);
  EXPECT_EQ(wait(after.saga->id, std::nullopt).value()->status, SagaStatus::kCompleted);
}

TEST_F(EngineTest, AKnownVersionWithOtherContentIsRefusedAndNothingOfItsFolderTaken) {
  Catalog found;
  ASSERT_TRUE(found.add(outrigger::testing::make_sequence({.steps = 2})).has_value());
  auto other = outrigger::testing::make_sequence().body;
  other.replace(other.find("\"sequence\""), 10, "\"another\"");
  ASSERT_TRUE(found.add(parse_definition(other, "other").value()).has_value());
  EXPECT_EQ(engine_->add_definitions(found).error().code, ErrorCode::kAlreadyExists);
  std::promise<ErrorCode> answer;
  engine_->start({.definition = "another", .idempotency_key = "k", .business_key = {}, .input = "1", .traceparent = {}},
                 [&](const Result<Started>& started) { answer.set_value(started.error().code); });
  EXPECT_EQ(answer.get_future().get(), ErrorCode::kNotFound);
}

TEST_F(EngineTest, RefusesToRunAChangedDefinitionUnderItsOldVersion) {
  start("a").value();
  close();
  journal_ = std::move(journal::open_embedded_journal({.folder = folder_.path(), .partitions = 8}).value());
  Catalog changed;
  ASSERT_TRUE(changed.add(outrigger::testing::make_sequence({.steps = 2})).has_value());
  engine_ = std::make_unique<Engine>(EngineSettings{}, std::move(changed), *journal_, &transport_, *registry_);
  ASSERT_TRUE(engine_->run().has_value());
  EXPECT_TRUE(eventually([&] { return !engine_->ready() && engine_->ready().error().message.contains("differs from the one that ran before"); }));
}

TEST_F(EngineTest, CountsWhatItDoes) {
  const auto started = start("a").value();
  for (int i = 0; i < 3; ++i) {
    reply(next_command());
  }
  ASSERT_TRUE(wait(started.saga->id, std::nullopt).has_value());
  const auto text = telemetry::serialize(registry_->Collect(), telemetry::ExpositionFormat::kPrometheusText);
  EXPECT_THAT(text, HasSubstr("outrigger_sagas_started_total{definition=\"sequence\"} 1"));
  EXPECT_THAT(text, HasSubstr("outrigger_sagas_finished_total{definition=\"sequence\",outcome=\"COMPLETED\"} 1"));
  EXPECT_THAT(text, HasSubstr("outrigger_saga_step_duration_seconds_count{definition=\"sequence\",step=\"step-3\",outcome=\"SUCCEEDED\"} 1"));
}

TEST_F(EngineTest, AnswersEveryCallerWhenItStops) {
  const auto started = start("a").value();
  auto answer = std::make_shared<std::promise<Result<SagaPointer>>>();
  engine_->wait(started.saga->id, {.after_version = {}, .deadline = std::chrono::steady_clock::now() + 1h},
                [answer](Result<SagaPointer> saga) { answer->set_value(std::move(saga)); });
  engine_->stop();
  EXPECT_EQ(answer->get_future().get().value()->status, SagaStatus::kRunning);
  EXPECT_EQ(start("b").error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(engine_->ready().has_value());
}

}  // namespace
}  // namespace outrigger::saga
