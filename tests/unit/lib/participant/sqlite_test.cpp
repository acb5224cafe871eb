#include "lib/participant/sqlite.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace outrigger::participant {
namespace {

constexpr std::string_view kInsert = "INSERT INTO t (v) VALUES (?)";
constexpr std::string_view kSelect = "SELECT v FROM t ORDER BY v";

class SqliteTest : public ::testing::Test {
 protected:
  SqliteTest()
      : folder_(std::filesystem::temp_directory_path() /
                (std::string("sqlite_test.") + ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    database_.emplace(Database::open(folder_ / "test.sqlite").value());
    EXPECT_TRUE(database_->execute("CREATE TABLE t (v INTEGER)").has_value());
  }
  ~SqliteTest() override {
    database_.reset();
    std::filesystem::remove_all(folder_);
  }

  void insert(std::int64_t value) { ASSERT_TRUE(database_->prepare(kInsert).value().bind(1, value).run().has_value()); }

  std::filesystem::path folder_;
  std::optional<Database> database_;
};

TEST_F(SqliteTest, AStatementThatIsPreparedAgainStartsAnewAndForgetsItsValues) {
  insert(1);
  insert(2);
  {
    auto read = database_->prepare(kSelect).value();
    ASSERT_TRUE(read.step().value());  // left in the midst of its rows
  }
  auto again = database_->prepare(kSelect).value();
  ASSERT_TRUE(again.step().value());
  EXPECT_EQ(again.integer(0), 1);
  ASSERT_TRUE(database_->prepare(kInsert).value().run().has_value());  // nothing bound: NULL, not the value of before
  EXPECT_EQ(database_->prepare("SELECT count(*) FROM t WHERE v IS NULL").value().step().value(), true);
}

TEST_F(SqliteTest, TheSameSqlCanBeHeldTwiceAtOnce) {
  insert(1);
  insert(2);
  auto outer = database_->prepare(kSelect).value();
  ASSERT_TRUE(outer.step().value());
  {
    auto inner = database_->prepare(kSelect).value();
    ASSERT_TRUE(inner.step().value());
    ASSERT_TRUE(inner.step().value());
    EXPECT_EQ(inner.integer(0), 2);
  }
  ASSERT_TRUE(outer.step().value());
  EXPECT_EQ(outer.integer(0), 2);
}

TEST_F(SqliteTest, AnAbandonedReadDoesNotHoldTheDatabaseOpen) {
  insert(1);
  {
    auto read = database_->prepare(kSelect).value();
    ASSERT_TRUE(read.step().value());
  }
  auto other = Database::open(folder_ / "test.sqlite").value();
  auto checkpoint = other.prepare("PRAGMA wal_checkpoint(TRUNCATE)").value();
  ASSERT_TRUE(checkpoint.step().value());
  EXPECT_EQ(checkpoint.integer(0), 0) << "a reader blocks the checkpoint";
}

TEST_F(SqliteTest, MoreStatementsThanAreKeptStillWork) {
  for (int i = 0; i < 200; ++i) {
    auto read = database_->prepare("SELECT " + std::to_string(i)).value();
    ASSERT_TRUE(read.step().value());
    EXPECT_EQ(read.integer(0), i);
  }
}

}  // namespace
}  // namespace outrigger::participant
