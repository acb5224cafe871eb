#include "lib/runtime/crash_point.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outrigger {
namespace {

using ::testing::HasSubstr;

TEST(CrashPoint, IsRefusedUnlessAllowed) {
  const auto armed = arm_crash_point("commit.before:1", nullptr);
  ASSERT_FALSE(armed.has_value());
  EXPECT_EQ(armed.error().code, ErrorCode::kFailedPrecondition);
  crash_point(CrashPoint::kCommitBefore);  // would end this process, were it armed
}

TEST(CrashPoint, NothingWantedIsNothingArmed) {
  EXPECT_TRUE(arm_crash_point(nullptr, nullptr).has_value());
  EXPECT_TRUE(arm_crash_point("", "1").has_value());
}

TEST(CrashPoint, AWrongNameOrCountIsRefusedWithTheNamesThereAre) {
  for (const auto* const wrong : {"nowhere:1", "commit.before", "commit.before:0", "commit.before:x", "commit.before:1x", ":1"}) {
    const auto armed = arm_crash_point(wrong, "1");
    ASSERT_FALSE(armed.has_value()) << wrong;
    EXPECT_EQ(armed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(armed.error().message, HasSubstr("inbox-commit.after"));
  }
}

TEST(CrashPointDeathTest, KillsAtTheArmedPassOfItsPointOnly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        (void)arm_crash_point("effect.after:3", "1");
        for (int pass = 0; pass < 10; ++pass) {
          crash_point(CrashPoint::kEffectBefore);
        }
        crash_point(CrashPoint::kEffectAfter);
        crash_point(CrashPoint::kEffectAfter);
        std::fputs("two passes", stderr);
        crash_point(CrashPoint::kEffectAfter);
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGKILL), "two passescrash point effect.after");
}

}  // namespace
}  // namespace outrigger
