#include "service/journal/batch.h"

#include <gtest/gtest.h>

namespace outrigger::journal {
namespace {

std::shared_ptr<const saga::SagaState> saga_in(std::uint32_t partition) {
  saga::SagaState state;
  state.id = saga::make_saga_id(partition, "01HZX3V6Q8M2T4R9K5W7Y1B3DC");
  state.partition = partition;
  return std::make_shared<const saga::SagaState>(std::move(state));
}

TEST(CheckBatch, TakesABatchWhosePartitionsAllHavePositions) {
  Batch batch;
  batch.states = {saga_in(1), saga_in(2)};
  batch.positions = {{.partition = 1, .next = 5}, {.partition = 2, .next = 0}};
  check_batch(batch);
}

TEST(CheckBatchDeathTest, EndsTheProcessForAWriteWithoutAFence) {
  Batch batch;
  batch.states = {saga_in(1)};
  EXPECT_DEATH(check_batch(batch), "without a fence");
}

TEST(CheckBatchDeathTest, EndsTheProcessForASagaTwice) {
  Batch batch;
  batch.states = {saga_in(1), saga_in(1)};
  batch.positions = {{.partition = 1, .next = 0}};
  EXPECT_DEATH(check_batch(batch), "twice");
}

TEST(CheckBatchDeathTest, EndsTheProcessForASagaInAnotherPartition) {
  Batch batch;
  auto stray = *saga_in(1);
  stray.partition = 2;
  batch.states = {std::make_shared<const saga::SagaState>(stray)};
  batch.positions = {{.partition = 2, .next = 0}};
  EXPECT_DEATH(check_batch(batch), "does not belong");
}

TEST(KeyRecord, ComesBackAsItWas) {
  const KeyRecord record{
      .partition = 3, .definition = "d", .key = "k", .fingerprint = "f", .saga_id = "p3-x", .created_at = WallTime(std::chrono::milliseconds(1234))};
  EXPECT_EQ(decode_key_record(encode(record)).value(), record);
}

TEST(KeyRecord, DamagedBytesAreDataLoss) { EXPECT_EQ(decode_key_record("\xff\xff\xff").error().code, ErrorCode::kDataLoss); }

TEST(DefinitionRecord, ComesBackAsItWas) {
  const DefinitionRecord record{.partition = 3, .hash = "abc", .body = "{}"};
  EXPECT_EQ(decode_definition_record(encode(record)).value(), record);
  EXPECT_EQ(decode_definition_record("").error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace outrigger::journal
