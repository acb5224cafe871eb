#include "chaos/runner/verdict.h"

#include <gtest/gtest.h>

#include <string>

namespace outrigger::chaos {
namespace {

AssertionResult result(std::string id, Finding finding) {
  AssertionResult out;
  out.id = std::move(id);
  out.finding = finding;
  return out;
}

/// What decides when several things are true at once: the lowest bit that is set wins.
Verdict expected(unsigned facts, Finding finding) {
  if ((facts & 1U) != 0) {
    return Verdict::kCleanUpIncomplete;
  }
  if ((facts & 2U) != 0) {
    return Verdict::kAborted;
  }
  if ((facts & 4U) != 0) {
    return Verdict::kRefused;
  }
  if ((facts & 8U) != 0) {
    return Verdict::kInconclusive;
  }
  if ((facts & 16U) != 0 || finding == Finding::kFail) {
    return Verdict::kFailed;
  }
  return finding == Finding::kPass ? Verdict::kPass : Verdict::kInconclusive;
}

TEST(Verdict, EveryCombinationOfFactsHasItsCode) {
  for (unsigned facts = 0; facts < 32; ++facts) {
    for (const auto finding : {Finding::kPass, Finding::kFail, Finding::kInconclusive}) {
      Evidence evidence;
      const auto add = [&](unsigned bit, std::vector<std::string>& to) {
        if ((facts & bit) != 0) {
          to.emplace_back("reason");
        }
      };
      add(1, evidence.leftovers);
      add(2, evidence.aborts);
      add(4, evidence.refusals);
      add(8, evidence.doubts);
      add(16, evidence.failures);
      evidence.assertions = {result("a", Finding::kPass), result("b", finding)};
      const auto decision = decide(evidence);
      EXPECT_EQ(decision.verdict, expected(facts, finding)) << "facts " << facts << ", finding " << name(finding);
      EXPECT_EQ(decision.reasons.empty(), decision.verdict == Verdict::kPass) << "facts " << facts;
    }
  }
}

TEST(Verdict, ExitCodesAreTheDocumentedOnes) {
  EXPECT_EQ(static_cast<int>(Verdict::kPass), 0);
  EXPECT_EQ(static_cast<int>(Verdict::kFailed), 1);
  EXPECT_EQ(static_cast<int>(Verdict::kInvalid), 2);
  EXPECT_EQ(static_cast<int>(Verdict::kInconclusive), 3);
  EXPECT_EQ(static_cast<int>(Verdict::kRefused), 4);
  EXPECT_EQ(static_cast<int>(Verdict::kAborted), 5);
  EXPECT_EQ(static_cast<int>(Verdict::kCleanUpIncomplete), 6);
}

TEST(Verdict, NothingAssertedIsNoPass) { EXPECT_EQ(decide({}).verdict, Verdict::kInconclusive); }

TEST(Verdict, AFailedAssertionIsNotHiddenByAnUndecidedOne) {
  Evidence evidence;
  evidence.assertions = {result("a", Finding::kInconclusive), result("b", Finding::kFail)};
  EXPECT_EQ(decide(evidence).verdict, Verdict::kFailed);
}

}  // namespace
}  // namespace outrigger::chaos
