#include "lib/contracts/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace outrigger::contracts {
namespace {

struct Vector {
  std::string_view schema;
  std::string_view canonical;
  std::int64_t fingerprint;
};

// From the Avro project's own test data, share/test/data/schema-tests.txt.
constexpr Vector kVectors[] = {
    {R"("null")", R"("null")", 7195948357588979594},
    {R"({"type":"boolean"})", R"("boolean")", -6970731678124411036},
    {R"("int")", R"("int")", 8247732601305521295},
    {R"("long")", R"("long")", -3434872931120570953},
    {R"("float")", R"("float")", 5583340709985441680},
    {R"("double")", R"("double")", -8181574048448539266},
    {R"("bytes")", R"("bytes")", 5746618253357095269},
    {R"("string")", R"("string")", -8142146995180207161},
    {R"([ "int"  ])", R"(["int"])", -5232228896498058493},
    {R"([ "int" , {"type":"boolean"} ])", R"(["int","boolean"])", 5392556393470105090},
    {R"({"fields":[], "type":"record", "name":"foo"})", R"({"name":"foo","type":"record","fields":[]})", -4824392279771201922},
    {R"({"fields":[], "type":"record", "name":"foo", "namespace":"x.y"})", R"({"name":"x.y.foo","type":"record","fields":[]})", 5916914534497305771},
    {R"({"fields":[], "type":"record", "name":"a.b.foo", "namespace":"x.y"})", R"({"name":"a.b.foo","type":"record","fields":[]})",
     -4616218487480524110},
    {R"({"fields":[], "type":"record", "name":"foo", "doc":"foo", "aliases":["foo","bar"]})", R"({"name":"foo","type":"record","fields":[]})",
     -4824392279771201922},
    {R"({ "fields":[{"type":"boolean", "aliases":[], "name":"f1", "default":true}, {"order":"descending","name":"f2","doc":"Hello","type":"int"}],
        "type":"record", "name":"foo"})",
     R"({"name":"foo","type":"record","fields":[{"name":"f1","type":"boolean"},{"name":"f2","type":"int"}]})", -4860222112080293046},
    {R"({"type":"enum", "name":"foo", "symbols":["A1"]})", R"({"name":"foo","type":"enum","symbols":["A1"]})", -6342190197741309591},
    {R"({"namespace":"x.y.z", "type":"enum", "name":"foo", "doc":"foo bar", "symbols":["A1", "A2"]})",
     R"({"name":"x.y.z.foo","type":"enum","symbols":["A1","A2"]})", -4448647247586288245},
    {R"({"name":"foo","type":"fixed","size":15})", R"({"name":"foo","type":"fixed","size":15})", 1756455273707447556},
    {R"({"namespace":"x.y.z", "type":"fixed", "name":"foo", "doc":"foo bar", "size":32})", R"({"name":"x.y.z.foo","type":"fixed","size":32})",
     -3064184465700546786},
    {R"({ "items":{"type":"null"}, "type":"array"})", R"({"type":"array","items":"null"})", -589620603366471059},
    {R"({ "values":"string", "type":"map"})", R"({"type":"map","values":"string"})", -8732877298790414990},
};

TEST(CanonicalForm, IsTheSpecificationsForItsTestVectors) {
  for (const auto& vector : kVectors) {
    const auto schema = Schema::parse(vector.schema, "vector");
    ASSERT_TRUE(schema) << vector.schema << ": " << schema.error().to_string();
    EXPECT_EQ(schema->canonical_form(), vector.canonical);
  }
}

TEST(Fingerprint, IsTheSpecificationsForItsTestVectors) {
  EXPECT_EQ(static_cast<std::int64_t>(rabin_fingerprint("[]")), -1241056759729112623);
  for (const auto& vector : kVectors) {
    EXPECT_EQ(static_cast<std::int64_t>(rabin_fingerprint(vector.canonical)), vector.fingerprint) << vector.canonical;
    EXPECT_EQ(static_cast<std::int64_t>(Schema::parse(vector.schema, "vector")->fingerprint()), vector.fingerprint) << vector.schema;
  }
}

TEST(CanonicalForm, NamesARecordThatContainsItselfByReference) {
  const auto list = Schema::parse(R"({"type":"record","name":"Node","namespace":"x","fields":[
      {"name":"value","type":"long"},{"name":"next","type":["null","Node"],"default":null}]})",
                                  "list.avsc");
  ASSERT_TRUE(list) << list.error().to_string();
  EXPECT_EQ(list->canonical_form(),
            R"({"name":"x.Node","type":"record","fields":[{"name":"value","type":"long"},{"name":"next","type":["null","x.Node"]}]})");
}

TEST(CanonicalForm, DoesNotChangeWithTheNameInJson) {
  const auto plain = Schema::parse(R"({"type":"record","name":"R","fields":[{"name":"a_b","type":"int"}]})", "a");
  const auto renamed = Schema::parse(R"({"type":"record","name":"R","fields":[{"name":"a_b","type":"int","json":"a-b"}]})", "b");
  EXPECT_EQ(plain->fingerprint(), renamed->fingerprint());
}

void expect_refused(std::string_view schema, std::string_view text) {
  const auto parsed = Schema::parse(schema, "bad.avsc");
  ASSERT_FALSE(parsed) << schema;
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(parsed.error().context, "bad.avsc");
  EXPECT_NE(parsed.error().message.find(text), std::string::npos) << parsed.error().message;
}

TEST(Schema, NamesWhereItIsWrong) {
  expect_refused("{", "not JSON");
  expect_refused(R"("strin")", "unknown type 'strin'");
  expect_refused(R"({"type":"record","name":"Order","fields":[{"name":"lines","type":{"type":"array"}}]})", "Order.lines: array without \"items\"");
  expect_refused(R"({"type":"record","name":"Order","fields":[{"name":"reserve-inventory","type":"int"}]})",
                 "Order.reserve-inventory: not an Avro name");
  expect_refused(R"({"type":"record","name":"Order","fields":[{"name":"n","type":"int","default":"x"}]})", "Order.n (default)");
  expect_refused(R"({"type":"record","name":"Order","fields":[{"name":"n","type":"int"},{"name":"n","type":"int"}]})", "twice");
  expect_refused(R"(["null","null"])", "twice");
  expect_refused(R"({"type":"fixed","name":"F","size":-1})", "size");
}

TEST(Schema, RefusesNestingThatWouldExhaustTheStack) {
  std::string schema;
  for (int i = 0; i < 10'000; ++i) {
    schema += R"({"type":"array","items":)";
  }
  expect_refused(schema + "\"int\"" + std::string(10'000, '}'), "too deeply");
}

}  // namespace
}  // namespace outrigger::contracts
