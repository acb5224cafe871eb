#include "cli/output.h"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;

TEST(Render, AlignsColumnsByCharactersNotBytes) {
  const Table table{.columns = {"NAME", "STATUS"}, .rows = {{"größe", "ok"}, {"x", "failed"}}};
  EXPECT_EQ(render(table, false), "NAME   STATUS\ngröße  ok\nx      failed\n");
}

TEST(Render, ColoursOnlyWhenAsked) {
  const Table table{.columns = {"A"}, .rows = {{{"bad", Tone::kBad}}}};
  EXPECT_FALSE(render(table, false).contains('\x1b'));
  EXPECT_TRUE(render(table, true).contains("\x1b[31mbad\x1b[0m"));
}

TEST(Render, DoesNotPassOnControlCharacters) {
  const Table table{.columns = {"A"}, .rows = {{"one\ntwo\x1b[2J"}}};
  EXPECT_EQ(render(table, false), "A\none two [2J\n");
}

TEST(Yaml, QuotesStringsThatReadAsAnotherType) {
  const Json document{{"a", "no"}, {"b", "42"}, {"c", ""}, {"d", "plain"}, {"e", 42}, {"f", true}, {"g", nullptr}};
  EXPECT_EQ(to_yaml(document), "a: \"no\"\nb: \"42\"\nc: \"\"\nd: plain\ne: 42\nf: true\ng: ~\n");
}

TEST(Yaml, KeepsEmptyListsAndMaps) { EXPECT_EQ(to_yaml(Json{{"list", Json::array()}, {"map", Json::object()}}), "list: []\nmap: {}\n"); }

TEST(Output, WritesOneFormat) {
  std::ostringstream out, error;
  Output output(out, error, false, false);
  bool was_asked_for_people = false;
  output.set_format(OutputFormat::kJson);
  output.result(Json{{"a", 1}}, [&] { was_asked_for_people = true; });
  EXPECT_EQ(Json::parse(out.str()), (Json{{"a", 1}}));
  EXPECT_FALSE(was_asked_for_people);
}

TEST(Output, AnEventIsALineOfJson) {
  std::ostringstream out, error;
  Output output(out, error, false, false);
  output.set_format(OutputFormat::kJson);
  output.event(Json{{"a", Json{{"b", 1}}}}, [] {});
  EXPECT_EQ(out.str(), "{\"a\":{\"b\":1}}\n");
}

TEST(Output, FailuresHaveExitCodes) {
  std::ostringstream out, error;
  Output output(out, error, false, false);
  EXPECT_EQ(output.failure({ErrorCode::kInvalidArgument, "m", "f:1:2"}), 2);
  EXPECT_EQ(error.str(), "error: f:1:2: m\n");
  EXPECT_EQ(output.failure({ErrorCode::kUnavailable, "m", {}}), 69);
  EXPECT_EQ(output.failure({ErrorCode::kNotFound, "m", {}}), 1);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace outrigger::cli
