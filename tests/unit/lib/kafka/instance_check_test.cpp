#include "lib/kafka/internal/instance_check.h"

#include <gtest/gtest.h>

#include <vector>

namespace outrigger::kafka::internal {
namespace {

const std::vector<GroupMember> kMembers{{.id = "m-1", .instance = ""}, {.id = "m-2", .instance = "one"}, {.id = "m-3", .instance = "two"}};

TEST(InstanceCheck, TheMemberWithTheNameHoldsIt) {
  EXPECT_EQ(holder_of("one", "m-2", kMembers), InstanceHolder::kItself);
  EXPECT_EQ(holder_of("one", "m-3", kMembers), InstanceHolder::kAnother);
  EXPECT_EQ(holder_of("two", "m-2", kMembers), InstanceHolder::kAnother);
}

TEST(InstanceCheck, AnIdThatWasNotToldYetMayBeTheHolders) { EXPECT_EQ(holder_of("one", "", kMembers), InstanceHolder::kItself); }

TEST(InstanceCheck, ANameThatNobodyHasIsFree) { EXPECT_EQ(holder_of("three", "m-1", kMembers), InstanceHolder::kItself); }

TEST(InstanceCheck, WhoCannotBeAskedIsNotKnown) {
  // Port 1 of the loopback is refused at once.
  InstanceCheck check({.bootstrap = "127.0.0.1:1", .client_id = "test", .extra = {}}, "group", "one");
  EXPECT_EQ(check.ask("m-2", std::chrono::milliseconds{100}), InstanceHolder::kUnknown);
}

}  // namespace
}  // namespace outrigger::kafka::internal
