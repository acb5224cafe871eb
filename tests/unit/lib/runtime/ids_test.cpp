#include "lib/runtime/ids.h"

#include <gtest/gtest.h>

#include <set>

namespace outrigger {
namespace {

TEST(Ulid, SortsByTime) {
  const WallTime earlier{std::chrono::milliseconds{1'700'000'000'000}};
  EXPECT_LT(make_ulid(earlier, ~0ULL, ~0ULL), make_ulid(earlier + std::chrono::milliseconds{1}, 0, 0));
}

TEST(Ulid, EncodesTheSpecificationsTime) {
  // 1469918176385 is the example of the specification: 01ARYZ6S41 is its time part.
  EXPECT_TRUE(make_ulid(WallTime{std::chrono::milliseconds{1469918176385}}, 0, 0).starts_with("01ARYZ6S41"));
}

TEST(Ulid, IsUniqueInOneMillisecond) {
  std::set<std::string> ids;
  for (int i = 0; i < 10'000; ++i) {
    ids.insert(make_ulid());
  }
  EXPECT_EQ(ids.size(), 10'000U);
}

TEST(StableHash, NeverChanges) {
  // Stored partitions depend on it: published FNV-1a test vectors.
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace outrigger
