#include "service/saga/definition.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace outrigger::saga {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view kHead =
    "apiVersion: outrigger/v1\nkind: SagaDefinition\nmetadata: {name: order, version: 2}\nspec:\n  deadline: 2m\n  steps:\n";

std::string with_steps(std::string_view steps) { return std::string(kHead) + std::string(steps); }

std::string problem(std::string_view steps) {
  const auto definition = parse_definition(with_steps(steps), "order.yaml");
  return definition ? "" : definition.error().message;
}

TEST(Definition, ReadsWhatIsThereAndFillsInTheRest) {
  const auto definition = parse_definition(with_steps(R"(    - name: reserve
      topic: cmd.inventory
      command: Reserve
      timeout: 2s
      retry: {attempts: 7, backoff: 50ms, maxBackoff: 1s, multiplier: 1.5}
      compensate: {command: Release, timeout: 3s, retry: {attempts: 9}}
    - {name: ship, after: [reserve], topic: cmd.logistics, command: Ship}
)"),
                                           "order.yaml");
  ASSERT_TRUE(definition.has_value()) << definition.error().to_string();
  EXPECT_EQ(definition->name, "order");
  EXPECT_EQ(definition->version, 2U);
  EXPECT_EQ(definition->deadline, 2min);
  const auto& reserve = definition->steps[0];
  EXPECT_EQ(reserve.timeout, 2s);
  EXPECT_EQ(reserve.retry.attempts, 7U);
  EXPECT_EQ(reserve.retry.multiplier, 1.5);
  EXPECT_EQ(reserve.compensate->command, "Release");
  EXPECT_EQ(reserve.compensate->retry.attempts, 9U);
  EXPECT_FALSE(definition->steps[1].compensate.has_value());
  EXPECT_EQ(definition->steps[1].timeout, 5s);
}

TEST(Definition, StepsComeInTheOrderOfTheirAfter) {
  const auto definition = parse_definition(with_steps(R"(    - {name: c, after: [b, a], topic: t, command: C}
    - {name: a, topic: t, command: A}
    - {name: b, after: [a], topic: t, command: B}
)"),
                                           "order.yaml");
  ASSERT_TRUE(definition.has_value()) << definition.error().to_string();
  EXPECT_EQ(definition->index_of("a"), 0U);
  EXPECT_EQ(definition->index_of("b"), 1U);
  EXPECT_EQ(definition->index_of("c"), 2U);
  EXPECT_EQ(definition->steps[2].after, (std::vector<std::string>{"a", "b"}));
}

TEST(Definition, BodyReadsBackToTheSameDefinition) {
  const auto definition =
      parse_definition(with_steps("    - {name: a, topic: t, command: A, retry: {multiplier: 1.1}, compensate: {command: B}}\n"), "order.yaml");
  ASSERT_TRUE(definition.has_value());
  const auto again = parse_definition(definition->body, "body");
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->body, definition->body);
  EXPECT_EQ(again->hash, definition->hash);
}

TEST(Definition, HashDependsOnContentAndNotOnForm) {
  const auto plain = parse_definition(with_steps("    - {name: a, topic: t, command: A}\n"), "x").value();
  const auto formatted =
      parse_definition(with_steps("    # a comment\n    - name: a\n      command: A\n      topic: t\n      timeout: 5000ms\n"), "y").value();
  const auto other = parse_definition(with_steps("    - {name: a, topic: t, command: A, timeout: 6s}\n"), "x").value();
  EXPECT_EQ(plain.hash, formatted.hash);
  EXPECT_NE(plain.hash, other.hash);
  EXPECT_EQ(plain.hash.size(), 64U);
}

TEST(Definition, HashIsStableAcrossReleases) {
  const auto definition = parse_definition(with_steps("    - {name: a, topic: t, command: A}\n"), "x").value();
  // Sagas under way name their definition by this: a change here strands them.
  EXPECT_EQ(
      definition.body,
      R"({"apiVersion":"outrigger/v1","kind":"SagaDefinition","metadata":{"name":"order","version":2},"spec":{"deadline":"2m","steps":[{"name":"a","topic":"t","command":"A","after":[],"timeout":"5s","retry":{"attempts":5,"backoff":"200ms","maxBackoff":"10s","multiplier":2.0}}]}})");
}

TEST(Definition, AStepMayNameAUrlInsteadOfATopic) {
  const auto definition = parse_definition(with_steps(R"(    - {name: a, url: "http://127.0.0.1:9000/reserve", command: A, compensate: {command: B}}
    - {name: b, after: [a], url: "http://ship/", command: C, compensate: {command: D, url: "http://ship/cancel"}}
)"),
                                           "order.yaml");
  ASSERT_TRUE(definition.has_value()) << definition.error().to_string();
  EXPECT_EQ(definition->steps[0].url, "http://127.0.0.1:9000/reserve");
  EXPECT_EQ(definition->steps[0].topic, "");
  EXPECT_EQ(definition->steps[0].compensate->url, "http://127.0.0.1:9000/reserve");
  EXPECT_EQ(definition->steps[1].compensate->url, "http://ship/cancel");
  const auto again = parse_definition(definition->body, "body");
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->hash, definition->hash);
}

TEST(Definition, AUrlIsCheckedWhereItStands) {
  EXPECT_THAT(problem("    - {name: a, url: \"https://host/\", command: A}\n"),
              HasSubstr("order.yaml:7:22: url: 'https://host/': https is not supported"));
  EXPECT_THAT(problem("    - {name: a, url: \"host/x\", command: A}\n"), HasSubstr("it must begin with http://"));
  EXPECT_THAT(problem("    - {name: a, url: \"http://host/\", topic: t, command: A}\n"), HasSubstr("remove one of the two"));
  EXPECT_THAT(problem("    - {name: a, url: \"http://host/\", command: A, compensate: {command: B, url: x}}\n"), HasSubstr("url: 'x' is no URL"));
  EXPECT_THAT(problem("    - {name: a, topic: t, command: A, compensate: {command: B, url: \"http://host/\"}}\n"),
              HasSubstr("the step itself names a topic"));
}

TEST(Definition, MisspelledKeysAreNamedWithTheirPlaceAndASuggestion) {
  EXPECT_THAT(problem("    - {name: a, topic: t, command: A, timout: 5s}\n"),
              HasSubstr("order.yaml:7:39: unknown key 'timout' in step; did you mean 'timeout'?"));
}

TEST(Definition, NamesEveryProblemAtOnce) {
  const auto text = problem("    - {name: A_B, topic: t, command: A}\n    - {name: b, command: B, retry: {attempts: 0}}\n");
  EXPECT_THAT(text, HasSubstr("name: 'A_B' is not possible"));
  EXPECT_THAT(text, HasSubstr("'topic' is missing"));
  EXPECT_THAT(text, HasSubstr("attempts: expected a whole number from 1"));
}

TEST(Definition, UnknownStepsInAfterAreNamed) {
  EXPECT_THAT(problem("    - {name: reserve, topic: t, command: A}\n    - {name: b, after: [resreve], topic: t, command: B}\n"),
              HasSubstr("order.yaml:8:25: step 'b': 'after' names the unknown step 'resreve'; did you mean 'reserve'?"));
}

TEST(Definition, StepsThatDoNotWaitForEachOtherKeepTheOrderOfTheFile) {
  const auto definition = parse_definition(with_steps(R"(    - {name: join, after: [right, left], topic: t, command: D}
    - {name: first, topic: t, command: A}
    - {name: left, after: [first], topic: t, command: B}
    - {name: right, after: [first], topic: t, command: C}
)"),
                                           "order.yaml");
  ASSERT_TRUE(definition.has_value()) << definition.error().to_string();
  std::vector<std::string> names;
  for (const auto& step : definition->steps) {
    names.push_back(step.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"first", "left", "right", "join"}));
  EXPECT_EQ(definition->steps[3].after, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(parse_definition(definition->body, "body")->hash, definition->hash);
}

TEST(Definition, CyclesAreRefused) {
  EXPECT_THAT(problem("    - {name: a, after: [b], topic: t, command: A}\n    - {name: b, after: [a], topic: t, command: B}\n"),
              HasSubstr("break the cycle"));
  EXPECT_THAT(problem("    - {name: a, after: [a], topic: t, command: A}\n"), HasSubstr("comes after itself"));
}

TEST(Definition, APivotIsPartOfTheHashAndReadsBack) {
  const auto plain = parse_definition(with_steps("    - {name: a, topic: t, command: A}\n"), "x").value();
  const auto with_pivot = parse_definition(with_steps("    - {name: a, topic: t, command: A, pivot: true}\n"), "x").value();
  EXPECT_EQ(plain.pivot(), std::nullopt);
  EXPECT_EQ(with_pivot.pivot(), 0U);
  EXPECT_NE(plain.hash, with_pivot.hash);
  EXPECT_EQ(parse_definition(with_pivot.body, "body")->hash, with_pivot.hash);
}

TEST(Definition, ASecondPivotIsRefused) {
  EXPECT_THAT(problem("    - {name: a, topic: t, command: A, pivot: true}\n    - {name: b, after: [a], topic: t, command: B, pivot: true}\n"),
              HasSubstr("order.yaml:8:51: pivot: 'a' is the pivot already"));
}

TEST(Definition, AStepBesideThePivotIsRefusedWithTheWayToPutItOnOneSide) {
  EXPECT_THAT(problem("    - {name: a, topic: t, command: A, pivot: true}\n    - {name: b, topic: t, command: B}\n"),
              HasSubstr("order.yaml:8:7: step 'b' could run at the same time as the pivot 'a'"));
}

TEST(Definition, AStepAfterThePivotHasNoCompensation) {
  EXPECT_THAT(problem("    - {name: a, topic: t, command: A, compensate: {command: X}, pivot: true}\n    - {name: b, after: [a], topic: t, command: "
                      "B}\n    - {name: c, after: [b], topic: t, command: C, compensate: {command: Y}}\n"),
              HasSubstr("order.yaml:9:51: compensate: step 'c' comes after the pivot 'a' and is never undone"));
}

TEST(Definition, AMisspelledPivotIsNamedWithItsPlaceAndASuggestion) {
  EXPECT_THAT(problem("    - {name: a, topic: t, command: A, pivto: true}\n"),
              HasSubstr("order.yaml:7:39: unknown key 'pivto' in step; did you mean 'pivot'?"));
}

TEST(Definition, BrokenYamlNamesItsPlace) {
  const auto definition = parse_definition("apiVersion: [", "broken.yaml");
  ASSERT_FALSE(definition.has_value());
  EXPECT_THAT(definition.error().to_string(), HasSubstr("broken.yaml:"));
}

TEST(Catalog, TakesTheHighestVersion) {
  Catalog catalog;
  auto definition = parse_definition(with_steps("    - {name: a, topic: t, command: A}\n"), "x").value();
  ASSERT_TRUE(catalog.add(definition).has_value());
  definition.version = 10;
  definition.hash = "other";
  ASSERT_TRUE(catalog.add(definition).has_value());
  EXPECT_EQ(catalog.latest("order")->version, 10U);
  EXPECT_EQ(catalog.latest("none"), nullptr);
  definition.hash = "third";
  EXPECT_EQ(catalog.add(definition).error().code, ErrorCode::kAlreadyExists);
}

TEST(Catalog, LoadsAFolderAndNamesTheFilesThatAreWrong) {
  const outrigger::testing::TemporaryFolder folder;
  EXPECT_EQ(Catalog::load(folder.path()).error().code, ErrorCode::kNotFound);
  std::ofstream(folder.path() / "good.yaml") << with_steps("    - {name: a, topic: t, command: A}\n");
  EXPECT_TRUE(Catalog::load(folder.path()).value().latest("order") != nullptr);
  std::ofstream(folder.path() / "bad.yml") << "kind: Nothing\n";
  const auto catalog = Catalog::load(folder.path());
  ASSERT_FALSE(catalog.has_value());
  EXPECT_THAT(catalog.error().message, HasSubstr("bad.yml:1"));
}

TEST(DefinitionSchema, NamesTheKeysThatTheReaderKnows) {
  std::ifstream file(std::filesystem::path(std::getenv("OUTRIGGER_SOURCE_DIR")) / "api/schemas/saga-definition.schema.json");
  const auto schema = nlohmann::json::parse(file);
  const auto keys = [](const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [key, value] : object.items()) {
      names.insert(key);
    }
    return names;
  };
  const auto read = [&](std::string_view destination) {
    return nlohmann::json::parse(
        parse_definition(with_steps(std::format("    - {{name: a, {}, command: A, compensate: {{command: B}}}}\n", destination)), "x").value().body);
  };
  auto body = read("topic: t");
  body["spec"]["steps"][0].merge_patch(read("url: \"http://host/\"")["spec"]["steps"][0]);
  body["spec"]["steps"][0]["pivot"] = true;  // in the body only where it is so
  const auto& step = schema.at("$defs").at("step").at("properties");
  EXPECT_EQ(keys(step), keys(body["spec"]["steps"][0]));
  EXPECT_EQ(keys(schema.at("$defs").at("retry").at("properties")), keys(body["spec"]["steps"][0]["retry"]));
  EXPECT_EQ(keys(step.at("compensate").at("properties")), keys(body["spec"]["steps"][0]["compensate"]));
  EXPECT_EQ(keys(schema.at("properties")), keys(body));
}

}  // namespace
}  // namespace outrigger::saga
