#include <gtest/gtest.h>

#include "lib/yaml/node.h"

namespace outrigger::yaml {
namespace {

std::string problem(std::string_view text) {
  const auto result = parse(text, "f.yaml");
  return result ? "accepted" : result.error().to_string();
}

TEST(YamlParser, KeepsOrderPositionsAndQuotes) {
  const auto root = parse("a: 1\nb:\n  - x\n  - \"7\"\n", "f.yaml").value();
  ASSERT_EQ(root.entries.size(), 2U);
  EXPECT_EQ(root.entries[0].key, "a");
  EXPECT_EQ(root.find("a")->where(), "f.yaml:1:4");
  EXPECT_EQ(root.find("a")->where_key(), "f.yaml:1:1");
  EXPECT_FALSE(root.find("a")->quoted);
  EXPECT_EQ(root.find("b")->items[1].scalar, "7");
  EXPECT_TRUE(root.find("b")->items[1].quoted);
  EXPECT_EQ(root.find("b")->items[0].where(), "f.yaml:3:5");
  EXPECT_EQ(root.find("c"), nullptr);
}

TEST(YamlParser, RefusesADuplicateKeyAndSaysWhereTheFirstIs) {
  EXPECT_EQ(problem("a: 1\nb: 2\na: 3\n"), "f.yaml:3:1: duplicate key 'a': it stands in line 1 already; remove one");
  EXPECT_TRUE(problem("o: {a: 1, a: 2}").contains("duplicate key 'a'"));
}

TEST(YamlParser, RefusesWhatHidesMeaning) {
  EXPECT_TRUE(problem("a: &x 1\nb: *x\n").contains("f.yaml:1:4: anchors"));
  EXPECT_TRUE(problem("a: !!python/object 1\n").contains("tag"));
  EXPECT_TRUE(problem("<<: {a: 1}\n").contains("merge keys"));
  EXPECT_TRUE(problem("? [a, b]\n: 1\n").contains("a key must be"));
}

TEST(YamlParser, NamesThePlaceOfBrokenSyntax) { EXPECT_TRUE(problem("a: 1\nb: [1, 2\n").contains("f.yaml:")) << problem("a: 1\nb: [1, 2\n"); }

TEST(YamlParser, BoundsDepthAndSize) {
  EXPECT_TRUE(problem(std::string(100, '[') + std::string(100, ']')).contains("nested deeper"));
  EXPECT_TRUE(problem(std::string(5U << 20U, ' ')).contains("at most"));
}

TEST(YamlParser, CountsDocumentsAndIgnoresEmptyOnes) {
  EXPECT_TRUE(problem("").contains("is empty"));
  EXPECT_TRUE(problem("a: 1\n---\nb: 2\n").contains("f.yaml:3:1: a second document"));
  EXPECT_EQ(parse_documents("---\na: 1\n---\n---\nb: 2\n", "f.yaml").value().size(), 2U);
}

TEST(YamlParser, NamesAFileThatIsNotThere) {
  const auto result = parse_file("/nonexistent/x.yaml");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(result.error().to_string().contains("/nonexistent/x.yaml"));
}

}  // namespace
}  // namespace outrigger::yaml
