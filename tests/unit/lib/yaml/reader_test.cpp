#include "lib/yaml/reader.h"

#include <gtest/gtest.h>

#include "lib/yaml/suggest.h"

namespace outrigger::yaml {
namespace {

using namespace std::chrono_literals;

TEST(YamlReader, ReadsEveryKindOfValue) {
  const auto root = parse("t: hello\nb: true\ni: 42\nd: 1m30s\nl: [a, 2]\nm: {k: v}\nc: fast\n", "f.yaml").value();
  Problems problems;
  Mapping map(root, problems);
  EXPECT_EQ(map.require_text("t"), "hello");
  EXPECT_TRUE(map.get_boolean("b", false));
  EXPECT_EQ(map.get_integer("i", 0, 0, 100), 42);
  EXPECT_EQ(map.get_duration("d", 0s), 90s);
  EXPECT_EQ(map.get_texts("l"), (std::vector<std::string>{"a", "2"}));
  EXPECT_EQ(map.get_map("m").front().second, "v");
  EXPECT_EQ(map.get_choice("c", "slow", {"slow", "fast"}), "fast");
  EXPECT_EQ(map.get_integer("absent", 7, 0, 100), 7);
  map.finish();
  EXPECT_TRUE(problems.result());
}

TEST(YamlReader, NamesAnUnknownKeyItsPlaceAndTheNearestKnownOne) {
  const auto root = parse("timeout: 1s\nretires: 3\n", "f.yaml").value();
  Problems problems;
  Mapping map(root, problems, "step");
  map.require_duration("timeout");
  map.get_integer("retries", 0, 0, 9);
  map.finish();
  ASSERT_FALSE(problems.result());
  EXPECT_EQ(problems.result().error().message, "f.yaml:2:1: unknown key 'retires' in step; did you mean 'retries'?");
}

TEST(YamlReader, ReportsEveryProblemOfAFile) {
  const auto root = parse("b: yes\ni: 200\nd: 5\nl: x\nc: fats\nempty:\n", "f.yaml").value();
  Problems problems;
  Mapping map(root, problems);
  map.get_boolean("b", false);
  map.get_integer("i", 0, 0, 100);
  map.get_duration("d", 0s);
  map.get_texts("l");
  map.get_choice("c", "slow", {"slow", "fast"});
  map.require_text("missing");
  map.require_text("empty");
  map.finish();
  EXPECT_EQ(problems.size(), 7U);
  const auto message = problems.result().error().message;
  EXPECT_TRUE(message.contains("f.yaml:1:4: b: expected true or false, found 'yes'")) << message;
  EXPECT_TRUE(message.contains("f.yaml:2:4: i: expected a whole number from 0 to 100, found '200'")) << message;
  EXPECT_TRUE(message.contains("f.yaml:3:4: d: '5' is not a duration")) << message;
  EXPECT_TRUE(message.contains("did you mean 'fast'?")) << message;
  EXPECT_TRUE(message.contains("'missing' is missing")) << message;
  EXPECT_TRUE(message.contains("f.yaml:6:1: 'empty' has no value")) << message;
}

TEST(YamlReader, AQuotedNumberIsText) {
  const auto root = parse("i: \"42\"\n", "f.yaml").value();
  Problems problems;
  Mapping map(root, problems);
  map.get_integer("i", 0, 0, 100);
  EXPECT_FALSE(problems.empty());
}

TEST(YamlReader, AListWhereAMappingIsExpectedIsOneProblem) {
  const auto root = parse("[a, b]", "f.yaml").value();
  Problems problems;
  Mapping map(root, problems, "spec");
  EXPECT_EQ(map.require_text("x"), "");
  map.finish();
  EXPECT_EQ(problems.result().error().message, "f.yaml:1:1: spec: expected a mapping (key: value), found a list");
}

TEST(YamlSuggestion, SeesSwapsCaseAndListsWhenNothingIsNear) {
  const std::vector<std::string_view> known{"timeout", "retry"};
  EXPECT_EQ(suggestion("tiemout", known), "did you mean 'timeout'?");
  EXPECT_EQ(suggestion("Timeout", known), "did you mean 'timeout'?");
  EXPECT_EQ(suggestion("colour", known), "known here: timeout, retry");
  EXPECT_EQ(suggestion("x", {}), "nothing is expected here");
}

}  // namespace
}  // namespace outrigger::yaml
