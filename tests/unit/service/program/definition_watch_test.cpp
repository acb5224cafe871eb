#include "service/program/definition_watch.h"

#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "service/program/metrics.h"
#include "tests/support/saga_definitions.h"
#include "tests/support/temporary_folder.h"

namespace outrigger::service {
namespace {

using outrigger::testing::make_sequence;
using outrigger::testing::TemporaryFolder;
using Added = std::vector<std::shared_ptr<const saga::Definition>>;

class DefinitionWatchTest : public ::testing::Test {
 protected:
  // As a ConfigMap is mounted: files are links into a folder that a link names, and that link is swapped.
  void mount(const std::string& revision, const std::map<std::string, std::string>& files) {
    std::filesystem::create_directory(folder_.path() / revision);
    for (const auto& [name, text] : files) {
      std::ofstream(folder_.path() / revision / name) << text;
    }
    std::filesystem::remove(folder_.path() / "..data");
    std::filesystem::create_directory_symlink(revision, folder_.path() / "..data");
    for (const auto& [name, text] : files) {
      if (!std::filesystem::is_symlink(folder_.path() / name)) {
        std::filesystem::create_symlink(std::filesystem::path("..data") / name, folder_.path() / name);
      }
    }
  }
  static std::string body(std::size_t steps) { return make_sequence({.steps = steps}).body; }
  std::uint64_t count(const std::string& result) { return registry_.counter(metrics::kDefinitionReloads, {{"result", result}}).value(); }
  double refused() { return registry_.gauge(metrics::kDefinitionsRefused).value(); }

  DefinitionWatch make_watch() {
    return DefinitionWatch(
        {.folder = folder_.path()},
        [this](const saga::Catalog& found) -> Result<Added> {
          ++looks_;
          auto merged = known_.merged_with(found);
          if (!merged) {
            return std::unexpected(merged.error());
          }
          known_ = *std::move(merged);
          return found.all();
        },
        registry_);
  }

  TemporaryFolder folder_;
  telemetry::Registry registry_;
  saga::Catalog known_;
  int looks_ = 0;
};

TEST_F(DefinitionWatchTest, HandsOnWhatChangedAndNothingElse) {
  mount("..1", {{"sequence.yaml", body(2)}});
  auto watch = make_watch();
  watch.look();
  EXPECT_EQ(looks_, 0);
  auto second = body(3);
  second.replace(second.find("\"version\":1"), 11, "\"version\":2");
  mount("..2", {{"sequence.yaml", second}});
  watch.look();
  watch.look();
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(known_.latest("sequence")->version, 2U);
  EXPECT_EQ(known_.latest("sequence")->steps.size(), 3U);
  EXPECT_EQ(count("added"), 1U);
}

TEST_F(DefinitionWatchTest, AFolderWithAFaultIsRefusedWholeOnceAndTakenWhenItIsMended) {
  mount("..1", {{"sequence.yaml", body(2)}});
  auto watch = make_watch();
  mount("..2", {{"sequence.yaml", body(2)}, {"other.yaml", "kind: Wrong"}});
  watch.look();
  watch.look();
  EXPECT_EQ(looks_, 0);
  EXPECT_EQ(count("refused"), 1U);
  EXPECT_EQ(refused(), 1);
  mount("..3", {{"sequence.yaml", body(2)}, {"other.yaml", body(2)}});
  watch.look();
  EXPECT_EQ(refused(), 0);
  EXPECT_EQ(looks_, 1);
}

TEST_F(DefinitionWatchTest, AVersionWithOtherContentIsRefused) {
  mount("..1", {{"sequence.yaml", body(2)}});
  ASSERT_TRUE(known_.add(make_sequence({.steps = 2})).has_value());
  auto watch = make_watch();
  mount("..2", {{"sequence.yaml", body(3)}});
  watch.look();
  EXPECT_EQ(refused(), 1);
  EXPECT_EQ(known_.latest("sequence")->steps.size(), 2U);
}

TEST_F(DefinitionWatchTest, AFolderThatIsGoneIsRefusedAndNoticedWhenItIsBack) {
  mount("..1", {{"sequence.yaml", body(2)}});
  auto watch = make_watch();
  const auto away = folder_.path().string() + "-away";
  std::filesystem::rename(folder_.path(), away);
  watch.look();
  EXPECT_EQ(refused(), 1);
  std::filesystem::rename(away, folder_.path());
  watch.look();
  EXPECT_EQ(refused(), 0);
}

}  // namespace
}  // namespace outrigger::service
