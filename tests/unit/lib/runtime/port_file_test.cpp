#include "lib/runtime/port_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace outrigger {
namespace {

TEST(PortFile, HoldsTheBoundPortsAsJsonAndLeavesNothingBeside) {
  const auto folder = std::filesystem::temp_directory_path() / "outrigger_port_file_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_port_file(folder / "ports.json", {{"http", 34567}, {"operations", 8}}).has_value());
  std::stringstream content;
  content << std::ifstream(folder / "ports.json").rdbuf();
  EXPECT_EQ(content.str(), "{\"http\":34567,\"operations\":8}\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

TEST(PortFile, AFolderThatIsMissingIsAnErrorThatNamesTheFile) {
  const auto written = write_port_file("/nonexistent/ports.json", {{"http", 1}});
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(written.error().to_string().starts_with("/nonexistent/ports.json: cannot create")) << written.error().to_string();
}

TEST(PortFile, WithoutAFileNothingIsWritten) { EXPECT_TRUE(write_port_file({}, {{"http", 1}}).has_value()); }

}  // namespace
}  // namespace outrigger
