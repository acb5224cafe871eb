#include "lib/contracts/codec.h"

#include <avro/consumer.h>
#include <avro/errors.h>
#include <avro/generic.h>
#include <avro/io.h>
#include <avro/schema.h>
#include <avro/value.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace outrigger::contracts {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOrder = R"({"type":"record","name":"Order","namespace":"test","fields":[
  {"name":"id","type":"string"},
  {"name":"lines","type":{"type":"array","items":{"type":"record","name":"Line","fields":[
      {"name":"sku","type":"string"},{"name":"quantity","type":"int"},{"name":"price","type":"double","default":1.5}]}}},
  {"name":"kind","type":{"type":"enum","name":"Kind","symbols":["NEW","OLD"]},"default":"OLD"},
  {"name":"labels","type":{"type":"map","values":"long"},"default":{}},
  {"name":"flag","type":"boolean","default":true},
  {"name":"note","type":["null","string","long"],"default":null},
  {"name":"hash","type":{"type":"fixed","name":"Hash","size":3},"default":"\u0001\u007f\u00ff"},
  {"name":"last_step","json":"last-step","type":"bytes","default":""}]})";

Schema order_schema() {
  auto schema = Schema::parse(kOrder, "order.avsc");
  EXPECT_TRUE(schema) << schema.error().to_string();
  return *schema;
}

const std::string kFullOrder = R"({"flag":false,"hash":"abc","id":"o-1 é","kind":"NEW","labels":{"a":-1,"b":9223372036854775807},"last-step":"þ",)"
                               R"("lines":[{"price":0.25,"quantity":-2147483648,"sku":"x"},{"price":2.0,"quantity":64,"sku":""}],"note":12})";

TEST(Codec, BringsBackWhatItWrote) {
  const auto schema = order_schema();
  const auto bytes = encode(schema, kFullOrder);
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  const auto json = decode(schema, *bytes);
  ASSERT_TRUE(json) << json.error().to_string();
  EXPECT_EQ(Json::parse(*json), Json::parse(kFullOrder));
}

TEST(Codec, WritesTheSpecificationsExample) {
  // "Records" in the specification: {"a": 27, "b": "foo"} is 36 06 66 6f 6f.
  const auto schema = Schema::parse(R"({"type":"record","name":"test","fields":[{"name":"a","type":"long"},{"name":"b","type":"string"}]})", "spec");
  EXPECT_EQ(*encode(*schema, R"({"a":27,"b":"foo"})"),
            "\x36\x06"
            "foo");
}

TEST(Codec, FillsDefaultsAndLeavesOutNulls) {
  const auto schema = order_schema();
  const auto bytes = encode(schema, R"({"id":"x","lines":[{"sku":"s","quantity":1}]})");
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  EXPECT_EQ(
      Json::parse(*decode(schema, *bytes)),
      Json::parse(
          R"({"id":"x","lines":[{"sku":"s","quantity":1,"price":1.5}],"kind":"OLD","labels":{},"flag":true,"hash":"\u0001\u007f\u00ff","last-step":""})"));
}

TEST(Codec, NamesThePathOfWhatDoesNotFit) {
  const auto schema = order_schema();
  const auto refused = [&](std::string_view json, std::string_view text) {
    const auto bytes = encode(schema, json);
    ASSERT_FALSE(bytes) << json;
    EXPECT_EQ(bytes.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(bytes.error().message.find(text), std::string::npos) << bytes.error().message;
  };
  refused(R"({"id":"x","lines":[{"sku":"s","quantity":1},{"sku":"s","quantity":2.5}]})", "lines[1].quantity: 2.5 is not an int");
  refused(R"({"id":"x","lines":[{"sku":"s","quantity":2147483648}]})", "lines[0].quantity");
  refused(R"({"id":"x","lines":[{"sku":"s","quantity":18446744073709551615}]})", "lines[0].quantity");
  refused(R"({"id":"x","lines":[],"colour":"red"})", "colour: test.Order has no such field");
  refused(R"({"lines":[]})", "id: missing");
  refused(R"({"id":"x","lines":[],"kind":"NEWER"})", "kind: \"NEWER\" is not a symbol of test.Kind");
  refused(R"({"id":"x","lines":[],"note":true})", "note: true is not any of the union's types");
  refused(R"({"id":"x","lines":[],"hash":"abcd"})", "hash: \"abcd\" is not 3 bytes long");
  refused(R"({"id":"x","lines":[],"last-step":"€"})", "code points 0-255");
  refused(R"([1])", "the document: a list is not an object");
}

struct AvroValue {
  explicit AvroValue(avro_schema_t schema) : interface(avro_generic_class_from_schema(schema)) { avro_generic_value_new(interface, &value); }
  ~AvroValue() {
    avro_value_decref(&value);
    avro_value_iface_decref(interface);
  }
  AvroValue(const AvroValue&) = delete;
  AvroValue& operator=(const AvroValue&) = delete;
  avro_value_iface_t* interface;
  avro_value_t value{};
};

TEST(Codec, IsReadAndWrittenAlikeByAvroC) {
  const auto bytes = encode(order_schema(), kFullOrder);
  ASSERT_TRUE(bytes);
  avro_schema_t schema = nullptr;
  ASSERT_EQ(avro_schema_from_json_length(kOrder.data(), kOrder.size(), &schema), 0) << avro_strerror();
  {
    AvroValue other(schema);
    const auto reader = avro_reader_memory(bytes->data(), static_cast<std::int64_t>(bytes->size()));
    ASSERT_EQ(avro_value_read(reader, &other.value), 0) << avro_strerror();
    avro_reader_free(reader);
    char* text = nullptr;
    ASSERT_EQ(avro_value_to_json(&other.value, 1, &text), 0);
    const auto json = Json::parse(text);
    std::free(text);
    EXPECT_EQ(json.at("lines").at(0).at("quantity"), -2147483648);
    EXPECT_EQ(json.at("note"), Json::parse(R"({"long":12})"));
    EXPECT_EQ(json.at("labels").at("b"), 9223372036854775807);

    std::string written(4096, '\0');
    const auto writer = avro_writer_memory(written.data(), static_cast<std::int64_t>(written.size()));
    ASSERT_EQ(avro_value_write(writer, &other.value), 0) << avro_strerror();
    written.resize(static_cast<std::size_t>(avro_writer_tell(writer)));
    avro_writer_free(writer);
    // avro-c writes a block of a map or array with its size in bytes: other bytes for the same value.
    EXPECT_EQ(Json::parse(*decode(order_schema(), written)), Json::parse(kFullOrder));
  }
  avro_schema_decref(schema);
}

TEST(Decoder, RefusesEveryTruncation) {
  const auto schema = order_schema();
  const auto bytes = *encode(schema, kFullOrder);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto json = decode(schema, std::string_view(bytes).substr(0, length));
    ASSERT_FALSE(json) << length;
    EXPECT_EQ(json.error().code, ErrorCode::kDataLoss);
  }
  EXPECT_EQ(decode(schema, bytes + "x").error().code, ErrorCode::kDataLoss);
}

TEST(Decoder, SurvivesDamagedBytes) {
  const auto schema = order_schema();
  const auto bytes = *encode(schema, kFullOrder);
  std::mt19937 random(7);
  std::size_t decoded = 0;
  for (int round = 0; round < 5000; ++round) {
    auto damaged = bytes;
    for (int flips = 0; flips < 3; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (const auto json = decode(schema, damaged)) {
      ++decoded;
      EXPECT_TRUE(Json::accept(*json));
    }
  }
  EXPECT_LT(decoded, 5000U);
}

TEST(Decoder, BoundsWhatNeedsNoBytes) {
  const auto nulls = Schema::parse(R"({"type":"array","items":"null"})", "nulls");
  const auto json = decode(*nulls, std::string("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10));
  ASSERT_FALSE(json);
  EXPECT_NE(json.error().message.find("too many values"), std::string::npos) << json.error().message;
}

TEST(Decoder, BoundsDepth) {
  const auto list = Schema::parse(R"({"type":"record","name":"N","fields":[{"name":"next","type":["null","N"]}]})", "list");
  const auto json = decode(*list, std::string(100'000, '\2'));
  ASSERT_FALSE(json);
  EXPECT_NE(json.error().message.find("too deeply"), std::string::npos) << json.error().message;
}

TEST(Decoder, NamesThePathOfDamage) {
  const auto schema = order_schema();
  // id "x", one line whose sku is not UTF-8.
  const auto json = decode(schema, std::string("\x02x\x02\x02\xff", 5));
  ASSERT_FALSE(json);
  EXPECT_NE(json.error().message.find("lines[0].sku: a string is not UTF-8"), std::string::npos) << json.error().message;
}

TEST(Decoder, RefusesANumberOfMoreThan64Bits) {
  const auto number = Schema::parse(R"("long")", "long");
  EXPECT_FALSE(decode(*number, std::string(10, '\xff')));
  EXPECT_EQ(*decode(*number, std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10)), "-9223372036854775808");
}

}  // namespace
}  // namespace outrigger::contracts
