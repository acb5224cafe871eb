#include "lib/participant/inbox.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lib/participant/metrics.h"

namespace outrigger::participant {
namespace {

using namespace std::chrono_literals;

Command make_command(std::string saga, Direction direction = Direction::kDo, std::string payload = "") {
  return {.saga_id = std::move(saga),
          .partition = 3,
          .step = "reserve",
          .direction = direction,
          .attempt = 1,
          .type = "Reserve",
          .destination = "cmd.test",
          .payload = std::move(payload),
          .deadline = {},
          .traceparent = "00-1-2-01"};
}

class InboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / (std::string("inbox_test.") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    reopen();
  }
  void TearDown() override {
    inbox_.reset();
    database_.reset();
    std::filesystem::remove_all(folder_);
  }

  void reopen() {
    inbox_.reset();
    database_.reset();
    database_.emplace(Database::open(folder_ / "test.sqlite").value());
    ASSERT_TRUE(database_->execute("CREATE TABLE IF NOT EXISTS effects (saga TEXT, what TEXT)").has_value());
    inbox_.emplace(Inbox::open(*database_, settings_, [this] { return now_; }, registry_).value());
  }

  std::int64_t count(const std::string& what) {
    auto statement = database_->prepare(what).value();
    EXPECT_TRUE(statement.step().value());
    return statement.integer(0);
  }
  std::int64_t effects(const std::string& saga, const std::string& what) {
    return count("SELECT count(*) FROM effects WHERE saga = '" + saga + "' AND what = '" + what + "'");
  }

  // Writes its effect first, so that a decision against it must take it back.
  Handler handler_ = [this](Database& database, const Command& command) -> Result<Decision> {
    ++calls_;
    auto insert = database.prepare("INSERT INTO effects VALUES (?, ?)").value();
    if (const auto written = insert.bind(1, command.saga_id).bind(2, name(command.direction)).run(); !written) {
      return std::unexpected(written.error());
    }
    if (command.payload == "fail") {
      return Decision::failed("no stock");
    }
    if (command.payload == "later") {
      return Decision::retry("busy", 700ms);
    }
    if (command.payload == "break") {
      return fail(ErrorCode::kInternal, "a bug");
    }
    return Decision::success(R"({"call":)" + std::to_string(calls_) + "}");
  };

  Reply process(const Command& command) { return inbox_->process(std::span(&command, 1), handler_).at(0); }

  std::filesystem::path folder_;
  telemetry::Registry registry_;
  InboxSettings settings_{.participant = "test"};
  WallTime now_{1'800'000'000'000ms};
  int calls_ = 0;
  std::optional<Database> database_;
  std::optional<Inbox> inbox_;
};

TEST_F(InboxTest, ARepeatedCommandAnswersFromTheStoredReply) {
  const auto first = process(make_command("s1"));
  auto again = make_command("s1");
  again.attempt = 2;
  const auto second = process(again);
  EXPECT_EQ(first.outcome, Outcome::kSuccess);
  EXPECT_EQ(second.outcome, Outcome::kSuccess);
  EXPECT_EQ(second.output, first.output);
  EXPECT_EQ(second.attempt, 2U) << "the reply echoes the attempt that asked";
  EXPECT_EQ(effects("s1", "do"), 1);
}

TEST_F(InboxTest, TheStoredReplySurvivesARestart) {
  const auto first = process(make_command("s1"));
  reopen();
  EXPECT_EQ(process(make_command("s1")).output, first.output);
  EXPECT_EQ(calls_, 1);
}

TEST_F(InboxTest, ARepeatInTheSameBatchHasOneEffect) {
  const std::vector<Command> batch{make_command("s1"), make_command("s1"), make_command("s2")};
  const auto replies = inbox_->process(batch, handler_);
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[0].output, replies[1].output);
  EXPECT_EQ(effects("s1", "do"), 1);
  EXPECT_EQ(effects("s2", "do"), 1);
}

TEST_F(InboxTest, AReplyEchoesTheIdentityOfItsCommand) {
  const auto reply = process(make_command("s1"));
  EXPECT_EQ(reply.saga_id, "s1");
  EXPECT_EQ(reply.partition, 3U);
  EXPECT_EQ(reply.step, "reserve");
  EXPECT_EQ(reply.direction, Direction::kDo);
  EXPECT_EQ(reply.traceparent, "00-1-2-01");
}

TEST_F(InboxTest, AnUndoAfterItsDoRunsOnce) {
  process(make_command("s1"));
  EXPECT_EQ(process(make_command("s1", Direction::kUndo)).outcome, Outcome::kSuccess);
  EXPECT_EQ(process(make_command("s1", Direction::kUndo)).outcome, Outcome::kSuccess);
  EXPECT_EQ(effects("s1", "undo"), 1);
}

TEST_F(InboxTest, AnUndoThatComesFirstLeavesATombstoneThatRefusesTheLateDo) {
  EXPECT_EQ(process(make_command("s1", Direction::kUndo)).outcome, Outcome::kSuccess);
  reopen();
  const auto late = process(make_command("s1"));
  EXPECT_EQ(late.outcome, Outcome::kRefused);
  EXPECT_FALSE(late.reason.empty());
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(process(make_command("s1", Direction::kUndo)).outcome, Outcome::kSuccess);
}

TEST_F(InboxTest, UndoAndLateDoInOneBatchHaveNoEffect) {
  const std::vector<Command> batch{make_command("s1", Direction::kUndo), make_command("s1")};
  const auto replies = inbox_->process(batch, handler_);
  EXPECT_EQ(replies[0].outcome, Outcome::kSuccess);
  EXPECT_EQ(replies[1].outcome, Outcome::kRefused);
  EXPECT_EQ(calls_, 0);
}

TEST_F(InboxTest, AFailedDoLeavesNothingStaysFailedAndNeedsNoUndo) {
  EXPECT_EQ(process(make_command("s1", Direction::kDo, "fail")).outcome, Outcome::kFailed);
  EXPECT_EQ(effects("s1", "do"), 0);
  const auto repeated = process(make_command("s1"));
  EXPECT_EQ(repeated.outcome, Outcome::kFailed);
  EXPECT_EQ(repeated.reason, "no stock");
  EXPECT_EQ(process(make_command("s1", Direction::kUndo)).outcome, Outcome::kSuccess);
  EXPECT_EQ(calls_, 1);
}

TEST_F(InboxTest, ARetryIsNotStoredAndLeavesNothing) {
  const auto busy = process(make_command("s1", Direction::kDo, "later"));
  EXPECT_EQ(busy.outcome, Outcome::kRetry);
  EXPECT_EQ(busy.retry_after, 700ms);
  EXPECT_EQ(effects("s1", "do"), 0);
  EXPECT_EQ(process(make_command("s1")).outcome, Outcome::kSuccess);
  EXPECT_EQ(effects("s1", "do"), 1);
}

TEST_F(InboxTest, AnUndoThatFailedMayBeTriedAgain) {
  process(make_command("s1"));
  EXPECT_EQ(process(make_command("s1", Direction::kUndo, "fail")).outcome, Outcome::kFailed);
  EXPECT_EQ(process(make_command("s1", Direction::kUndo)).outcome, Outcome::kSuccess);
  EXPECT_EQ(effects("s1", "undo"), 1);
}

TEST_F(InboxTest, AHandlersErrorTakesBackItsCommandAndNoOther) {
  const std::vector<Command> batch{make_command("s1"), make_command("s2", Direction::kDo, "break"), make_command("s3")};
  const auto replies = inbox_->process(batch, handler_);
  EXPECT_EQ(replies[0].outcome, Outcome::kSuccess);
  EXPECT_EQ(replies[1].outcome, Outcome::kRetry);
  EXPECT_EQ(replies[2].outcome, Outcome::kSuccess);
  reopen();
  EXPECT_EQ(count("SELECT count(*) FROM effects"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM inbox"), 2);
}

TEST_F(InboxTest, ADiskThatFillsInsideABatchAnswersRetryAndLeavesNoneOfIt) {
  process(make_command("before"));
  ASSERT_TRUE(database_->execute("PRAGMA max_page_count = 1").has_value());  // SQLite rounds it up to the present size: full now
  std::vector<Command> batch;
  for (int i = 0; i < 400; ++i) {
    batch.push_back(make_command("s" + std::to_string(i) + std::string(200, 'x')));
  }
  for (const auto& reply : inbox_->process(batch, handler_)) {
    EXPECT_EQ(reply.outcome, Outcome::kRetry);
    EXPECT_TRUE(reply.retry_after.has_value());
  }
  EXPECT_EQ(registry_.counter(metrics::kInboxRolledBack, {{"participant", "test"}}).value(), 1U);
  reopen();
  EXPECT_EQ(count("SELECT count(*) FROM effects"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM inbox"), 1);
  EXPECT_EQ(inbox_->process(batch, handler_).at(399).outcome, Outcome::kSuccess) << "with room again the same commands succeed";
}

TEST_F(InboxTest, RowsOlderThanTheRetentionGoAFewAtATime) {
  settings_.retention = 1h;
  settings_.expire_at_most = 2;
  reopen();
  for (const auto* saga : {"s1", "s2", "s3"}) {
    process(make_command(saga));
  }
  now_ += 61min;
  process(make_command("s4"));
  EXPECT_EQ(count("SELECT count(*) FROM inbox"), 2) << "two of the three old ones went";
  process(make_command("s5"));
  EXPECT_EQ(count("SELECT count(*) FROM inbox WHERE key LIKE 's1/%' OR key LIKE 's2/%' OR key LIKE 's3/%'"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM inbox"), 2);
}

TEST_F(InboxTest, CountsWhatItDid) {
  process(make_command("s1"));
  process(make_command("s1"));
  process(make_command("s2", Direction::kUndo));
  process(make_command("s2"));
  const auto counted = [this](const char* result) {
    return registry_.counter(metrics::kInboxCommands, {{"participant", "test"}, {"result", result}}).value();
  };
  EXPECT_EQ(counted("executed"), 1U);
  EXPECT_EQ(counted("repeated"), 1U);
  EXPECT_EQ(counted("tombstone"), 1U);
  EXPECT_EQ(counted("refused"), 1U);
}

TEST(Database, AFileThatIsNoDatabaseIsDataLossAndNamed) {
  const auto file = std::filesystem::temp_directory_path() / "inbox_test.not_a_database";
  std::filesystem::remove(file);
  {
    auto database = Database::open(file).value();
    ASSERT_TRUE(database.execute("CREATE TABLE t (a)").has_value());
  }
  std::filesystem::resize_file(file, 0);
  {
    auto* stream = std::fopen(file.c_str(), "w");
    std::fputs(std::string(4096, 'z').c_str(), stream);
    std::fclose(stream);
  }
  const auto opened = Database::open(file);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(opened.error().context, file.string());
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace outrigger::participant
