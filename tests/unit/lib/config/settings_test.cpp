#include "lib/config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/runtime/lifecycle.h"

namespace outrigger::config {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    settings_.text("http-address", address_, "Where to listen");
    settings_.port("http-port", port_, "Port");
    settings_.choice("journal", journal_, {"embedded", "kafka"}, "Kind of journal");
    settings_.duration("drain", drain_, 0ms, 60'000ms, "Longest drain");
    settings_.list("kafka-bootstrap", brokers_, "Brokers");
    settings_.flag("faults", faults_, "Allow faults");
    settings_.real("failure-rate", rate_, 0, 1, "Share of failures");
    settings_.number("lanes", lanes_, 1U, 64U, "Lanes");
  }
  ~SettingsTest() override { std::filesystem::remove(file_); }

  std::string write(std::string_view yaml) {
    std::ofstream(file_) << yaml;
    return file_.string();
  }

  Settings settings_{"outrigger-test", "A program of the tests.", "1.2.3"};
  std::string address_ = "127.0.0.1";
  std::uint16_t port_ = 8000;
  std::string journal_ = "embedded";
  std::chrono::milliseconds drain_ = 10s;
  std::vector<std::string> brokers_;
  bool faults_ = false;
  double rate_ = 0;
  unsigned lanes_ = 2;
  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / (std::string("settings.") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml");
};

TEST_F(SettingsTest, WithoutInputKeepsTheDefaults) {
  EXPECT_FALSE(settings_.read({}).exit_code.has_value());
  EXPECT_EQ(port_, 8000);
  EXPECT_EQ(drain_, 10s);
}

TEST_F(SettingsTest, ReadsEveryKindFromFlags) {
  const auto reading = settings_.read({"--http-address", "::1", "--http-port=0", "--journal", "kafka", "--drain", "1m", "--kafka-bootstrap",
                                       "a:1,b:2", "--faults", "--failure-rate", "0.25", "--lanes", "7"});
  ASSERT_FALSE(reading.exit_code.has_value()) << reading.text;
  EXPECT_EQ(address_, "::1");
  EXPECT_EQ(port_, 0);
  EXPECT_EQ(journal_, "kafka");
  EXPECT_EQ(drain_, 1min);
  EXPECT_THAT(brokers_, ElementsAre("a:1", "b:2"));
  EXPECT_TRUE(faults_);
  EXPECT_EQ(rate_, 0.25);
  EXPECT_EQ(lanes_, 7U);
}

TEST_F(SettingsTest, ReadsEveryKindFromTheFile) {
  const auto reading = settings_.read({"--config", write("http-address: '::1'\nhttp-port: 0\njournal: kafka\ndrain: 1m\nkafka-bootstrap: [a:1, "
                                                         "b:2]\nfaults: true\nfailure-rate: 0.25\nlanes: 7\n")});
  ASSERT_FALSE(reading.exit_code.has_value()) << reading.text;
  EXPECT_EQ(address_, "::1");
  EXPECT_EQ(port_, 0);
  EXPECT_EQ(journal_, "kafka");
  EXPECT_EQ(drain_, 1min);
  EXPECT_THAT(brokers_, ElementsAre("a:1", "b:2"));
  EXPECT_TRUE(faults_);
  EXPECT_EQ(rate_, 0.25);
  EXPECT_EQ(lanes_, 7U);
}

TEST_F(SettingsTest, AFlagWinsOverTheFile) {
  ASSERT_FALSE(settings_.read({"--http-port", "9001", "--config", write("http-port: 9002\nlanes: 3\n")}).exit_code.has_value());
  EXPECT_EQ(port_, 9001);
  EXPECT_EQ(lanes_, 3U);
}

TEST_F(SettingsTest, AnEmptyFileChangesNothing) {
  EXPECT_FALSE(settings_.read({"--config", write("")}).exit_code.has_value());
  EXPECT_FALSE(settings_.read({"--config", write("# only a comment\n")}).exit_code.has_value());
  EXPECT_EQ(port_, 8000);
}

TEST_F(SettingsTest, AnUnknownKeyNamesLineAndSuggestion) {
  const auto reading = settings_.read({"--config", write("http-address: ::1\nhtp-port: 1\n")});
  EXPECT_EQ(reading.exit_code, exit_code::kBadConfiguration);
  EXPECT_THAT(reading.text, HasSubstr(file_.string() + ":2:1: unknown key htp-port: did you mean 'http-port'?"));
}

TEST_F(SettingsTest, BadFilesNameTheLine) {
  const struct {
    const char* yaml;
    const char* message;
  } cases[] = {
      {"http-port: 70000\n", ":1:12: http-port: '70000' is not a whole number from 0 to 65535"},
      {"lanes: 3\nlanes: 4\n", ":2:1: duplicate key 'lanes'"},
      {"\njournal: embeded\n", ":2:10: journal: 'embeded' is not one of embedded|kafka: did you mean 'embedded'?"},
      {"drain: 5\n", ":1:8: drain: '5' is not a duration"},
      {"drain: 2m\n", ":1:8: drain: 2m is not from 0s to 1m"},
      {"drain: 1500us\n", ":1:8: drain: 1500us is finer than this setting's unit, 1ms"},
      {"lanes:\n", ":1:1: lanes: write one plain value after the colon"},
      {"lanes: [1, 2]\n", ":1:1: lanes: write one plain value after the colon"},
      {"kafka-bootstrap: {a: 1}\n", ":1:1: kafka-bootstrap: write a list"},
      {"faults: maybe\n", ":1:9: faults: 'maybe' is neither true nor false"},
      {"failure-rate: nan\n", ":1:15: failure-rate: 'nan' is not a number from 0 to 1"},
      {"- a\n", ":1:1: a settings file is one YAML mapping"},
      {"lanes: 1\n---\nlanes: 2\n", ":3:1: a settings file is one YAML mapping"},
      {"a: [\n", "is not YAML"},
  };
  for (const auto& one : cases) {
    const auto reading = settings_.read({"--config", write(one.yaml)});
    EXPECT_EQ(reading.exit_code, exit_code::kBadConfiguration) << one.yaml;
    EXPECT_THAT(reading.text, HasSubstr(one.message)) << one.yaml;
  }
}

TEST_F(SettingsTest, AMissingFileIsAnError) {
  const auto reading = settings_.read({"--config", file_.string() + ".none"});
  EXPECT_EQ(reading.exit_code, exit_code::kBadConfiguration);
  EXPECT_THAT(reading.text, HasSubstr("cannot be opened"));
}

TEST_F(SettingsTest, WrongFlagsAreUsageErrors) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--http-port", "x"}, {"--http-port"}, {"stray"}, {"--journal", "etcd"}, {"--http-port", "1", "--http-port", "2"}, {"--faults=perhaps"}}) {
    EXPECT_EQ(settings_.read(arguments).exit_code, exit_code::kUsage) << ::testing::PrintToString(arguments);
  }
  EXPECT_THAT(settings_.read({"--htp-port=3"}).text, HasSubstr("did you mean 'http-port'?"));
}

TEST_F(SettingsTest, HelpNamesEveryKeyWithItsDefault) {
  const auto reading = settings_.read({"--help"});
  EXPECT_EQ(reading.exit_code, exit_code::kOk);
  for (const auto* text : {"--http-port", "8000", "--journal", "embedded|kafka", "--drain", "10s", "--config", "A program of the tests."}) {
    EXPECT_THAT(reading.text, HasSubstr(text));
  }
}

TEST_F(SettingsTest, PrintsWhatItReadsBack) {
  const auto printed = settings_.read({"--http-port", "1234", "--kafka-bootstrap", "a:1,b:2", "--print-config"});
  EXPECT_EQ(printed.exit_code, exit_code::kOk);
  EXPECT_THAT(printed.text, HasSubstr("http-port: 1234  # flag"));
  port_ = 0;
  EXPECT_FALSE(settings_.read({"--config", write(printed.text)}).exit_code.has_value());
  EXPECT_EQ(port_, 1234);
  EXPECT_THAT(brokers_, ElementsAre("a:1", "b:2"));
}

TEST_F(SettingsTest, CheckConfigEndsAfterReading) {
  EXPECT_EQ(settings_.read({"--check-config"}).exit_code, exit_code::kOk);
  EXPECT_EQ(settings_.read({"--check-config", "--config", write("nope: 1\n")}).exit_code, exit_code::kBadConfiguration);
}

}  // namespace
}  // namespace outrigger::config
