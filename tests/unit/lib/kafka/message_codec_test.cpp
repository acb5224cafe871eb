#include "lib/kafka/message_codec.h"

#include <gtest/gtest.h>

#include <string>

namespace outrigger::kafka {
namespace {

using participant::Command;
using participant::Direction;
using participant::Outcome;

class MessageCodecTest : public testing::Test {
 protected:
  MessageCodecTest() {
    EXPECT_TRUE(registry_.add_embedded(protocol_schemas()));
    const contracts::EmbeddedSchema own[] = {
        {"reserve.avsc", R"({"type":"record","name":"shop.v1.Reserve","fields":[{"name":"sku","type":"string"}]})"},
        {"reserve_reply.avsc", R"({"type":"record","name":"shop.v1.ReserveReply","fields":[
            {"name":"outcome","type":{"type":"enum","name":"Outcome","symbols":["SUCCESS","FAILED","RETRY","REFUSED","IN_PROGRESS"]}},
            {"name":"output","type":["null",{"type":"record","name":"Reservation","fields":[{"name":"reservation","type":"long"}]}],"default":null},
            {"name":"reason","type":"string","default":""},{"name":"retry_after_ms","type":["null","long"],"default":null}]})"}};
    EXPECT_TRUE(registry_.add_embedded(own));
  }

  static Command command(std::string type, std::string payload) {
    return {.saga_id = "p3-01ARZ3NDEKTSV4RRFFQ69G5FAV",
            .partition = 3,
            .step = "reserve-inventory",
            .direction = Direction::kUndo,
            .attempt = 2,
            .type = std::move(type),
            .destination = "cmd.inventory",
            .payload = std::move(payload),
            .deadline = WallTime{std::chrono::milliseconds{1'769'860'800'123}},
            .traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"};
  }

  static ReceivedRecord received(const OutgoingRecord& record) {
    return {.topic = record.topic, .partition = record.partition, .offset = 7, .key = record.key, .value = record.value, .headers = record.headers};
  }

  contracts::SchemaRegistry registry_;
  MessageCodec codec_{registry_, "shop.v1"};
};

void expect_equal(const Command& a, const Command& b) {
  EXPECT_EQ(a.idempotency_key(), b.idempotency_key());
  EXPECT_EQ(a.partition, b.partition);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.destination, b.destination);
  EXPECT_EQ(a.payload, b.payload);
  EXPECT_EQ(a.deadline, b.deadline);
  EXPECT_EQ(a.traceparent, b.traceparent);
}

TEST_F(MessageCodecTest, CarriesACommandWithItsOwnSchema) {
  const auto sent = command("Reserve", R"({"sku":"a"})");
  const auto record = codec_.encode(sent, "saga.inbox.g1");
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->topic, "cmd.inventory");
  EXPECT_EQ(record->partition, 3);
  EXPECT_EQ(record->key, sent.saga_id);
  const auto arrived = received(*record);
  EXPECT_EQ(arrived.header(header::kReplyTo), "saga.inbox.g1");
  EXPECT_EQ(arrived.header(header::kDeadline), "2026-01-31T12:00:00.123Z");
  EXPECT_EQ(arrived.header(header::kIdempotencyKey), sent.idempotency_key());
  const auto read = codec_.decode_command(arrived);
  ASSERT_TRUE(read) << read.error().to_string();
  expect_equal(*read, sent);
}

TEST_F(MessageCodecTest, CarriesACommandWithoutASchemaAsJsonText) {
  const auto sent = command("Unheard", R"({"any":["thing",1]})");
  const auto read = codec_.decode_command(received(*codec_.encode(sent, "r")));
  ASSERT_TRUE(read) << read.error().to_string();
  expect_equal(*read, sent);
}

TEST_F(MessageCodecTest, RefusesAPayloadThatDoesNotFit) {
  const auto record = codec_.encode(command("Reserve", R"({"sku":1})"), "r");
  ASSERT_FALSE(record);
  EXPECT_NE(record.error().message.find("sku"), std::string::npos) << record.error().message;
}

TEST_F(MessageCodecTest, CarriesReplies) {
  for (const auto* type : {"Reserve", "Unheard"}) {
    const auto asked = command(type, R"({"sku":"a"})");
    auto sent = reply_to(asked, Outcome::kRetry, R"({"reservation":12})", "busy");
    sent.retry_after = std::chrono::milliseconds{250};
    const auto record = codec_.encode(sent, asked, "saga.inbox.g1");
    ASSERT_TRUE(record) << record.error().to_string();
    EXPECT_EQ(record->topic, "saga.inbox.g1");
    EXPECT_EQ(record->partition, 3);
    const auto read = codec_.decode_reply(received(*record));
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(read->saga_id, sent.saga_id);
    EXPECT_EQ(read->step, sent.step);
    EXPECT_EQ(read->direction, sent.direction);
    EXPECT_EQ(read->attempt, sent.attempt);
    EXPECT_EQ(read->outcome, sent.outcome);
    EXPECT_EQ(read->output, sent.output);
    EXPECT_EQ(read->reason, sent.reason);
    EXPECT_EQ(read->retry_after, sent.retry_after);
    EXPECT_EQ(read->traceparent, sent.traceparent);
  }
}

TEST_F(MessageCodecTest, NamesWhatIsWrongWithARecord) {
  const auto good = received(*codec_.encode(command("Reserve", R"({"sku":"a"})"), "r"));
  const auto refused = [&](auto change, std::string_view text) {
    auto record = good;
    change(record);
    const auto read = codec_.decode_command(record);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().context, "cmd.inventory/3@7");
    EXPECT_NE(read.error().message.find(text), std::string::npos) << read.error().message;
  };
  refused([](ReceivedRecord& r) { r.headers.clear(); }, "header saga-id is missing");
  refused([](ReceivedRecord& r) { r.headers.emplace_back("saga-attempt", "many"); }, "saga-attempt: 'many' is not a number");
  refused([](ReceivedRecord& r) { r.headers.emplace_back("deadline", "soon"); }, "deadline: 'soon'");
  refused([](ReceivedRecord& r) { r.headers.emplace_back("saga-direction", "up"); }, "'up'");
  refused([](ReceivedRecord& r) { r.headers.emplace_back("ce_type", "Other"); }, "written as shop.v1.Reserve");
  refused([](ReceivedRecord& r) { r.value = "not Avro"; }, "single-object");
  refused([](ReceivedRecord& r) { r.value.reset(); }, "single-object");
}

}  // namespace
}  // namespace outrigger::kafka
