#include "cli/command_line.h"

#include <sstream>
#include <vector>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace outrigger::cli {
namespace {

class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    CLI::App& group = command_line_.add_group("boat", "Boats");
    CLI::App& list = command_line_.add_command(group, "list", "All boats", [this](CommandContext& context) {
      format_ = context.output.format();
      return 7;
    });
    list.add_option("--limit", limit_, "How many");
  }

  int run(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "outrigger");
    return command_line_.run(static_cast<int>(arguments.size()), arguments.data());
  }

  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream error_;
  CommandLine command_line_{{in_, out_, error_}};
  OutputFormat format_ = OutputFormat::kTable;
  int limit_ = 0;
};

TEST_F(CommandLineTest, ReturnsTheExitCodeOfTheCommand) {
  EXPECT_EQ(run({"boat", "list", "--limit", "3"}), 7);
  EXPECT_EQ(limit_, 3);
}

TEST_F(CommandLineTest, TakesGlobalOptionsAnywhere) {
  EXPECT_EQ(run({"boat", "list", "--output", "json"}), 7);
  EXPECT_EQ(format_, OutputFormat::kJson);
}

TEST_F(CommandLineTest, TakesGlobalOptionsFirst) {
  EXPECT_EQ(run({"-o", "yaml", "boat", "list"}), 7);
  EXPECT_EQ(format_, OutputFormat::kYaml);
}

TEST_F(CommandLineTest, SuggestsTheCommandThatWasMeant) {
  EXPECT_EQ(run({"boat", "lsit"}), 2);
  EXPECT_EQ(error_.str(), "error: outrigger boat has no command \"lsit\"; did you mean 'list'?\n");
}

TEST_F(CommandLineTest, SuggestsTheOptionThatWasMeant) {
  EXPECT_EQ(run({"boat", "list", "--limt", "3"}), 2);
  EXPECT_EQ(error_.str(), "error: outrigger boat list has no option --limt; did you mean '--limit'?\n");
}

TEST_F(CommandLineTest, RefusesAFormatItDoesNotHave) {
  EXPECT_EQ(run({"boat", "list", "--output", "xml"}), 2);
  EXPECT_TRUE(error_.str().contains("xml")) << error_.str();
}

TEST_F(CommandLineTest, RefusesAValueOfTheWrongType) {
  EXPECT_EQ(run({"boat", "list", "--limit", "many"}), 2);
  EXPECT_TRUE(error_.str().contains("outrigger boat list --help")) << error_.str();
}

TEST_F(CommandLineTest, AGroupAloneIsWrongUsage) {
  EXPECT_EQ(run({"boat"}), 2);
  EXPECT_EQ(run({}), 2);
}

TEST_F(CommandLineTest, ExplainsEveryLevel) {
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_TRUE(out_.str().contains("boat")) << out_.str();
  EXPECT_EQ(run({"boat", "list", "--help"}), 0);
  EXPECT_TRUE(out_.str().contains("--limit")) << out_.str();
  EXPECT_EQ(error_.str(), "");
}

TEST_F(CommandLineTest, LaysHelpOutAsAManPage) {
  EXPECT_EQ(run({"boat", "list", "--help"}), 0);
  const std::string help = out_.str();
  std::size_t last = 0;
  for (const char* heading : {"NAME\n  outrigger boat list - All boats\n", "\nSYNOPSIS\n  outrigger boat list [OPTIONS]\n", "\nOPTIONS\n",
                              "\nGLOBAL OPTIONS\n", "\nEXIT STATUS\n"}) {
    const auto at = help.find(heading);
    ASSERT_NE(at, std::string::npos) << heading << help;
    EXPECT_GE(at, last) << heading;
    last = at;
  }
}

}  // namespace
}  // namespace outrigger::cli
