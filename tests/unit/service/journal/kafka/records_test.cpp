#include "service/journal/kafka/internal/records.h"

#include <gtest/gtest.h>

#include "lib/runtime/ids.h"
#include "service/orders/contracts/contracts.h"
#include "service/saga/state.h"

namespace outrigger::journal::internal {
namespace {

class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest() {
    EXPECT_TRUE(contracts_.add_embedded(kafka::protocol_schemas()));
    const auto added = contracts_.add_embedded(orders::contract_schemas());
    EXPECT_TRUE(added) << added.error().to_string();
  }

  static saga::SagaState saga() {
    saga::SagaState state;
    state.partition = 3;
    state.id = saga::make_saga_id(3, make_ulid());
    state.definition = "order-fulfilment";
    state.idempotency_key = "with:colons:3:";
    state.version = 1;
    return state;
  }

  static kafka::ReceivedRecord received(const kafka::OutgoingRecord& record) {
    return {.topic = record.topic, .partition = record.partition, .offset = 0, .key = record.key, .value = record.value, .headers = record.headers};
  }

  participant::Command command(std::string type, std::string payload) const {
    return {.saga_id = state_.id,
            .partition = 3,
            .step = "schedule-logistics",
            .type = std::move(type),
            .destination = "cmd.logistics",
            .payload = std::move(payload),
            .deadline = wall_now(),
            .traceparent = {}};
  }

  [[nodiscard]] kafka::OutgoingRecord encode(participant::Command command) const {
    Batch batch;
    batch.commands.push_back(std::move(command));
    auto records = codec_.encode(batch);
    EXPECT_TRUE(records);
    return records->at(0);
  }

  telemetry::Registry metrics_;
  contracts::SchemaRegistry contracts_;
  RecordCodec codec_{contracts_, std::string(orders::kContractPackage), TopicNames::of("g1"), metrics_};
  saga::SagaState state_ = saga();
};

TEST_F(RecordsTest, BringsBackWhatABatchWrote) {
  Batch batch;
  batch.states.push_back(std::make_shared<const saga::SagaState>(state_));
  batch.keys.push_back(
      {.partition = 3, .definition = state_.definition, .key = state_.idempotency_key, .fingerprint = "f", .saga_id = state_.id, .created_at = {}});
  batch.definitions.push_back({.partition = 3, .hash = "h", .body = "b"});
  const auto records = codec_.encode(batch);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 3U);
  Batch again;
  for (const auto& record : *records) {
    EXPECT_EQ(record.topic, "saga.state.g1");
    EXPECT_EQ(record.partition, 3);
    ASSERT_TRUE(codec_.add_state_record(received(record), again));
  }
  EXPECT_EQ(*again.states.at(0), state_);
  EXPECT_EQ(again.keys, batch.keys);
  EXPECT_EQ(again.definitions, batch.definitions);
}

TEST_F(RecordsTest, ARemovalTakesSagaAndKeyAway) {
  Batch batch;
  batch.removals.push_back({.partition = 3, .saga_id = state_.id, .definition = state_.definition, .idempotency_key = state_.idempotency_key});
  const auto records = codec_.encode(batch);
  ASSERT_EQ(records->size(), 2U);
  Batch again;
  for (const auto& record : *records) {
    EXPECT_FALSE(record.value);
    ASSERT_TRUE(codec_.add_state_record(received(record), again));
  }
  EXPECT_EQ(again.removals.at(0).saga_id, state_.id);
  EXPECT_EQ(again.removals.at(1).definition, state_.definition);
  EXPECT_EQ(again.removals.at(1).idempotency_key, state_.idempotency_key);
}

TEST_F(RecordsTest, CommandsOfTheOrderExampleFitTheirSchemas) {
  constexpr std::string_view kOrder =
      R"({"order_id":"O-1","customer_id":"C-1","country":"DE","lines":[{"sku":"a","quantity":2,"unit_price_cents":5}]})";
  constexpr std::string_view kReserved = R"({"reservation_id":"r","reserved":{"a":2}})";
  const auto payloads = std::to_array<std::pair<std::string, std::string>>(
      {{"ReserveInventory", std::format(R"({{"input":{},"outputs":{{}}}})", kOrder)},
       {"ScheduleShipment", std::format(R"({{"input":{},"outputs":{{"reserve-inventory":{}}}}})", kOrder, kReserved)},
       {"ReleaseInventory", std::format(R"({{"input":{},"outputs":{{}},"output":{}}})", kOrder, kReserved)},
       {"CancelShipment", std::format(R"({{"input":{},"outputs":{{"reserve-inventory":{}}},"output":null}})", kOrder, kReserved)}});
  for (const auto& [type, payload] : payloads) {
    const auto record = encode(command(type, payload));
    EXPECT_EQ(contracts_.decode(*record.value)->schema, std::format("{}.{}", orders::kContractPackage, type));
  }
}

TEST_F(RecordsTest, APayloadThatDoesNotFitTravelsAsTextSoThatTheLaneGoesOn) {
  const auto record = encode(command("ReserveInventory", R"({"input":{"gift":"wrapped"},"outputs":{}})"));
  EXPECT_EQ(contracts_.decode(*record.value)->schema, "outrigger.saga.v1.JsonText");
}

TEST_F(RecordsTest, AStrangeStateRecordIsDamageWithItsPosition) {
  Batch batch;
  auto record = received({.topic = "saga.state.g1", .partition = 3, .key = "saga:" + state_.id, .value = "\xff\xff", .headers = {}});
  const auto damaged = codec_.add_state_record(record, batch);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().context, "saga.state.g1/3@0");
  record.value = saga::encode(state_);
  record.partition = 4;
  EXPECT_EQ(codec_.add_state_record(record, batch).error().code, ErrorCode::kDataLoss);
  record.key = "else";
  EXPECT_EQ(codec_.add_state_record(record, batch).error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace outrigger::journal::internal
