#include "lib/telemetry/log.h"

#include <gtest/gtest.h>

namespace outrigger::telemetry {
namespace {

TEST(Log, InputCannotForgeARecordOrAField) {
  const auto line = format_log_record("t", LogLevel::kInfo, "p", "a\n{\"level\":\"error\"}", {{"saga_id", "x\",\"y\":\"z\x1b[2J"}});
  EXPECT_EQ(line, R"({"time":"t","level":"info","program":"p","message":"a\n{\"level\":\"error\"}","saga_id":"x\",\"y\":\"z\u001b[2J"})");
}

TEST(Log, ReadsLevels) {
  EXPECT_EQ(parse_log_level("debug", LogLevel::kInfo), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("loud", LogLevel::kInfo), LogLevel::kInfo);
}

}  // namespace
}  // namespace outrigger::telemetry
