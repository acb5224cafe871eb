#include "service/saga/state.h"

#include <format>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "outrigger/saga/v1/state.pb.h"

namespace outrigger::saga {
namespace {

SagaState sample() {
  SagaState state;
  state.id = "p7-01HZX3V6Q8M2T4R9K5W7Y1B3DC";
  state.partition = 7;
  state.definition = "order";
  state.definition_version = 2;
  state.definition_hash = "abc";
  state.idempotency_key = "key";
  state.business_key = "order-1";
  state.search_terms = {"C-1", "PADDLE"};
  state.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  state.input = R"({"a":1})";
  state.status = SagaStatus::kStuck;
  state.version = 5;
  state.created_at = WallTime(std::chrono::milliseconds(1'700'000'000'123));
  state.updated_at = WallTime(std::chrono::milliseconds(1'700'000'001'456));
  state.deadline = WallTime(std::chrono::milliseconds(1'700'000'060'123));
  state.completions = 2;
  state.steps.push_back({.name = "one",
                         .status = StepStatus::kCompensating,
                         .attempt = 1,
                         .undo_attempt = 3,
                         .undo_waits = true,
                         .next_at = state.deadline,
                         .completion_sequence = 1,
                         .started_at = state.created_at,
                         .ended_at = state.updated_at,
                         .output = R"({"r":[1,2]})",
                         .error = "invalid \xff text"});
  state.history.push_back({.sequence = 9, .at = state.updated_at, .event = "SAGA_STUCK", .step = "one", .detail = "d"});
  return state;
}

TEST(StateCodec, ComesBackAsItWas) { EXPECT_EQ(decode(encode(sample())).value(), sample()); }

TEST(StateCodec, EveryStatusComesBack) {
  for (int saga = 0; saga <= static_cast<int>(SagaStatus::kAbandoned); ++saga) {
    for (int step = 0; step <= static_cast<int>(StepStatus::kSkipped); ++step) {
      auto state = sample();
      state.status = static_cast<SagaStatus>(saga);
      state.steps[0].status = static_cast<StepStatus>(step);
      EXPECT_EQ(decode(encode(state)).value(), state);
    }
  }
}

TEST(StateCodec, RefusesDamageAndRecordsOfANewerRelease) {
  EXPECT_EQ(decode("").error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(decode("\xff\xff").error().code, ErrorCode::kDataLoss);
  ::outrigger::saga::v1::SagaRecord record;
  ASSERT_TRUE(record.ParseFromString(encode(sample())));
  record.set_format_version(3);
  EXPECT_EQ(decode(record.SerializeAsString()).error().code, ErrorCode::kFailedPrecondition);
  record.set_format_version(1);
  record.clear_status();
  EXPECT_EQ(decode(record.SerializeAsString()).error().code, ErrorCode::kDataLoss);
}

TEST(StateJson, ShowsWhatTheInterfacePromises) {
  const auto json = nlohmann::json::parse(to_json(sample()));
  EXPECT_EQ(json["id"], "p7-01HZX3V6Q8M2T4R9K5W7Y1B3DC");
  EXPECT_EQ(json["status"], "STUCK");
  EXPECT_EQ(json["version"], 5);
  EXPECT_EQ(json["created_at"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(json["steps"][0]["status"], "COMPENSATING");
  EXPECT_EQ(json["steps"][0]["output"]["r"][1], 2);
  EXPECT_EQ(json["steps"][0]["error"], "invalid \xEF\xBF\xBD text");
  EXPECT_EQ(json["history"][0]["event"], "SAGA_STUCK");
}

TEST(StateJson, AnyTextStaysJsonOnOneLine) {
  auto state = sample();
  state.business_key = "a\"b\\c\nd\x01é";
  for (const char* output : {"{\n  \"r\": [1,\r\n 2]\n}", "no json", "\"\xff\"", "[]", ""}) {
    state.steps[0].output = output;
    const auto text = to_json(state);
    ASSERT_TRUE(nlohmann::json::accept(text)) << text;
    EXPECT_FALSE(text.contains('\n') || text.contains('\r')) << text;
    EXPECT_EQ(nlohmann::json::parse(text)["business_key"], state.business_key);
  }
  EXPECT_TRUE(nlohmann::json::parse(to_json(state))["steps"][0]["output"].is_null());
  state.steps.clear();
  state.history.clear();
  EXPECT_EQ(nlohmann::json::parse(to_json(state))["history"], nlohmann::json::array());
}

TEST(FormatTime, IsTheDateAndTimeOfTheStandardLibrary) {
  std::uint64_t random = 1;
  for (int i = 0; i < 10'000; ++i) {
    random = random * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    const WallTime time(std::chrono::milliseconds((random >> 11U) % 253'402'300'800'000U));  // up to the year 9999
    ASSERT_EQ(format_time(time), std::format("{:%FT%T}Z", time));
  }
}

TEST(SagaId, NamesItsPartition) {
  EXPECT_EQ(make_saga_id(12, "01HZX3V6Q8M2T4R9K5W7Y1B3DC"), "p12-01HZX3V6Q8M2T4R9K5W7Y1B3DC");
  EXPECT_EQ(partition_of_id("p12-01HZX3V6Q8M2T4R9K5W7Y1B3DC").value(), 12U);
  for (const char* wrong : {"", "p", "p-01HZX3V6Q8M2T4R9K5W7Y1B3DC", "p1", "p1-short", "p01-01HZX3V6Q8M2T4R9K5W7Y1B3DC",
                            "q1-01HZX3V6Q8M2T4R9K5W7Y1B3DC", "p99999999999-01HZX3V6Q8M2T4R9K5W7Y1B3DC", "p+1-01HZX3V6Q8M2T4R9K5W7Y1B3DC"}) {
    EXPECT_FALSE(partition_of_id(wrong).has_value()) << wrong;
  }
}

TEST(PartitionOfKey, NeverChanges) {
  // A change here would look for every stored key in the wrong place.
  EXPECT_EQ(partition_of_key("order-1", 64), partition_of_key("order-1", 64));
  EXPECT_EQ(partition_of_key("a", 64), 0xaf63dc4c8601ec8cU % 64);
}

TEST(SagaStatus, NamesReadBack) {
  EXPECT_EQ(parse_saga_status("COMPENSATED").value(), SagaStatus::kCompensated);
  EXPECT_THAT(parse_saga_status("DONE").error().message, ::testing::HasSubstr("RUNNING"));
}

}  // namespace
}  // namespace outrigger::saga
