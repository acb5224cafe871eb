#include "service/journal/embedded_journal.h"

#include <csignal>
#include <fstream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/journal/internal/log_check.h"
#include "service/journal/record_store.h"
#include "tests/support/temporary_folder.h"

namespace outrigger::journal {
namespace {

using outrigger::testing::TemporaryFolder;
using ::testing::HasSubstr;

Batch storing(std::uint32_t partition, int number, std::size_t input_bytes = 100) {
  auto state = std::make_shared<saga::SagaState>();
  state->id = saga::make_saga_id(partition, std::format("{:026}", number));
  state->partition = partition;
  state->definition = "d";
  state->input = '"' + std::string(input_bytes, 'x') + '"';
  Batch batch;
  batch.states.push_back(state);
  batch.positions.push_back({.partition = partition, .next = number});
  return batch;
}

std::size_t stored(const RecordStore& store, std::uint32_t partition) {
  std::size_t count = 0;
  EXPECT_TRUE(store.each_unfinished(partition, [&](const saga::SagaState&) { ++count; }).has_value());
  return count;
}

/// The newest write-ahead log: where the last commits are before they are in a table.
std::filesystem::path newest_log(const std::filesystem::path& folder) {
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0 && (newest.empty() || entry.path() > newest)) {
      newest = entry.path();
    }
  }
  return newest;
}

/// Where the second record of a log begins: behind the first one's header of seven bytes and its length.
std::uint64_t find_second_record(const std::string& log) {
  const auto byte = [&](std::size_t at) { return std::uint64_t{static_cast<unsigned char>(log.at(at))}; };
  return 7 + byte(4) + (byte(5) << 8U);
}

/// Fills a store in a process that then dies without closing it.
void fill_and_die(const std::filesystem::path& folder, int count) {
  const auto child = ::fork();
  if (child == 0) {
    auto store = RecordStore::open({.folder = folder, .partitions = 4});
    for (int i = 0; store && i < count; ++i) {
      if (!(*store)->apply(storing(0, i))) {
        ::_exit(1);
      }
    }
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(RecordStore, KeepsEveryAppliedBatchWhenItsProcessIsKilled) {
  const TemporaryFolder folder;
  fill_and_die(folder.path(), 20);
  const auto store = RecordStore::open({.folder = folder.path(), .partitions = 4});
  ASSERT_TRUE(store.has_value()) << store.error().to_string();
  EXPECT_EQ(stored(**store, 0), 20U);
  EXPECT_EQ((*store)->position(0).value(), 19);
}

TEST(RecordStore, TakesALogWhoseLastRecordIsTorn) {
  const TemporaryFolder folder;
  fill_and_die(folder.path(), 20);
  const auto log = newest_log(folder.path());
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 10);
  const auto store = RecordStore::open({.folder = folder.path(), .partitions = 4});
  ASSERT_TRUE(store.has_value()) << store.error().to_string();
  EXPECT_EQ(stored(**store, 0), 19U);
}

TEST(RecordStore, RefusesALogThatIsDamagedBeforeItsEnd) {
  const TemporaryFolder folder;
  fill_and_die(folder.path(), 20);
  const auto log = newest_log(folder.path());
  {
    std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(log) / 2));
    file.write("damage", 6);
  }
  const auto store = RecordStore::open({.folder = folder.path(), .partitions = 4});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(store.error().to_string(), HasSubstr("restore it from a backup"));
}

/// Writes `bytes` into a file in place.
void overwrite(const std::filesystem::path& path, std::uint64_t offset, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RecordStore, ReportsEveryFlippedByteOfALogButThoseOfItsLastRecord) {
  const TemporaryFolder folder;
  fill_and_die(folder.path(), 8);
  const auto log = newest_log(folder.path());
  const auto whole = contents(log);
  // The last record begins where the log without its last batch would end: at most an eighth of it.
  const auto last_begins = whole.size() - whole.size() / 8;
  ASSERT_FALSE(find_log_damage(folder.path()).has_value());
  for (std::size_t offset = 0; offset < last_begins - 100; ++offset) {
    overwrite(log, offset, std::string(1, static_cast<char>(~static_cast<unsigned char>(whole[offset]))));
    const auto damage = find_log_damage(folder.path());
    ASSERT_TRUE(damage.has_value()) << "the flipped byte " << offset;
    EXPECT_EQ(damage->file, log);
    EXPECT_LE(damage->offset, offset);
    overwrite(log, offset, whole.substr(offset, 1));
  }
}

TEST(RecordStore, ATornLogIsNoDamageWhereverItIsTorn) {
  const TemporaryFolder folder;
  fill_and_die(folder.path(), 8);
  const auto log = newest_log(folder.path());
  for (auto size = std::filesystem::file_size(log); size > 0; --size) {
    std::filesystem::resize_file(log, size);
    ASSERT_FALSE(find_log_damage(folder.path()).has_value()) << "torn at " << size;
  }
}

TEST(RecordStore, RefusesALogWhereARecordsLengthIsWrongOrAllIsZero) {
  // RocksDB itself takes both for the end of the log, and would open without the acknowledged records behind them.
  for (const auto& damage : {std::string("\xff\xff"), std::string(64, '\0')}) {
    const TemporaryFolder folder;
    fill_and_die(folder.path(), 20);
    const auto log = newest_log(folder.path());
    overwrite(log, find_second_record(contents(log)) + (damage.size() == 2 ? 4 : 0), damage);
    const auto store = RecordStore::open({.folder = folder.path(), .partitions = 4});
    ASSERT_FALSE(store.has_value());
    EXPECT_EQ(store.error().code, ErrorCode::kDataLoss);
    EXPECT_THAT(store.error().to_string(), HasSubstr(log.filename().string()));
    EXPECT_THAT(store.error().to_string(), HasSubstr("restore it from a backup"));
  }
}

TEST(RecordStore, RefusesWhenALogIsMissing) {
  const TemporaryFolder folder;
  fill_and_die(folder.path(), 20);
  std::filesystem::remove(newest_log(folder.path()));
  const auto store = RecordStore::open({.folder = folder.path(), .partitions = 4});
  // Its writes were acknowledged; a store that opened without them would have lost them silently.
  EXPECT_FALSE(store.has_value());
}

TEST(RecordStore, KeepsItsPartitionCount) {
  const TemporaryFolder folder;
  ASSERT_TRUE(RecordStore::open({.folder = folder.path(), .partitions = 64}).has_value());
  const auto store = RecordStore::open({.folder = folder.path(), .partitions = 32});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(store.error().message, HasSubstr("made with 64 partitions"));
}

TEST(RecordStore, IsOpenOnce) {
  const TemporaryFolder folder;
  const auto first = RecordStore::open({.folder = folder.path(), .partitions = 4});
  ASSERT_TRUE(first.has_value());
  const auto second = RecordStore::open({.folder = folder.path(), .partitions = 4});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr("another process"));
}

TEST(RecordStore, WipesOnePartition) {
  const TemporaryFolder folder;
  const auto store = std::move(RecordStore::open({.folder = folder.path(), .partitions = 4}).value());
  for (int i = 1; i < 1200; ++i) {
    ASSERT_TRUE(store->apply(storing(1, i)).has_value());
  }
  ASSERT_TRUE(store->apply(storing(2, 1)).has_value());
  ASSERT_TRUE(store->wipe(1).has_value());
  EXPECT_EQ(stored(*store, 1), 0U);
  EXPECT_EQ(store->position(1).value(), 0);
  EXPECT_EQ(stored(*store, 2), 1U);
  EXPECT_EQ(store->list({}).value().sagas.size(), 1U);
}

TEST(RecordStore, NotesAreWrittenWithTheirBatch) {
  const TemporaryFolder folder;
  const auto store = std::move(RecordStore::open({.folder = folder.path(), .partitions = 4}).value());
  EXPECT_FALSE(store->note("changelog/1").value().has_value());
  const std::vector<std::pair<std::string, std::string>> notes{{"changelog/1", "17"}};
  ASSERT_TRUE(store->apply(storing(1, 1), notes).has_value());
  EXPECT_EQ(store->note("changelog/1").value(), "17");
}

/// Runs in a process of its own, whose files may not grow beyond a limit: what a full disk looks like to a writer.
int fill_up_and_recover(const std::filesystem::path& folder) {
  ::signal(SIGXFSZ, SIG_IGN);
  auto store = RecordStore::open({.folder = folder, .partitions = 4});
  if (!store) {
    return 10;
  }
  constexpr rlim_t kLimit = 200 * 1024;
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const auto unlimited = limit;
  limit.rlim_cur = kLimit;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  int acknowledged = 0;
  Result<void> applied;
  for (; acknowledged < 1000; ++acknowledged) {
    applied = (*store)->apply(storing(0, acknowledged, 4096));
    if (!applied) {
      break;
    }
  }
  if (applied || acknowledged == 0) {
    return 11;
  }
  if (applied.error().code != ErrorCode::kResourceExhausted || (*store)->health()) {
    return 12;
  }
  if ((*store)->apply(storing(0, 5000))) {
    return 13;  // nothing may be written before recover(): what is on disk is not known
  }
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  if (!(*store)->recover() || !(*store)->health()) {
    return 14;
  }
  const auto kept = static_cast<int>(stored(**store, 0));
  if (kept != acknowledged && kept != acknowledged + 1) {
    return 15;
  }
  return (*store)->apply(storing(0, 6000)) && stored(**store, 0) == static_cast<std::size_t>(kept) + 1 ? 0 : 16;
}

TEST(RecordStore, SaysThatTheDiskIsFullAndGoesOnAfterwards) {
  const TemporaryFolder folder;
  const auto child = ::fork();
  if (child == 0) {
    ::_exit(fill_up_and_recover(folder.path()));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(RecordStore, DamageThatIsReadTurnsItsHealthRed) {
  const TemporaryFolder folder;
  for (int time = 0; time < 3; ++time) {  // opening again moves what was written into a table
    const auto store = std::move(RecordStore::open({.folder = folder.path(), .partitions = 4}).value());
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(store->apply(storing(1, time * 100 + i, 1000)).has_value());
    }
  }
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".sst") {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(100);  // in the first data block
      file.write("damage damage damage", 20);
      ++damaged;
    }
  }
  ASSERT_GT(damaged, 0);
  const auto store = RecordStore::open({.folder = folder.path(), .partitions = 4});
  if (!store) {
    EXPECT_EQ(store.error().code, ErrorCode::kDataLoss);
    return;
  }
  const auto read = (*store)->each_unfinished(1, [](const saga::SagaState&) {});
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kDataLoss);
  ASSERT_FALSE((*store)->health().has_value());
  EXPECT_EQ((*store)->health().error().code, ErrorCode::kDataLoss);
}

TEST(EmbeddedJournal, SaysWhenItsFolderCannotBeMade) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  const auto journal = open_embedded_journal({.folder = folder.path() / "file" / "below"});
  ASSERT_FALSE(journal.has_value());
  EXPECT_THAT(journal.error().to_string(), HasSubstr("file/below"));
}

}  // namespace
}  // namespace outrigger::journal
