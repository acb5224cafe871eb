#include "chaos/runner/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "chaos/drivers/http_probe.h"
#include "chaos/drivers/sidecar_driver.h"
#include "chaos/runner/recover.h"
#include "chaos/runner/replay.h"
#include "tests/unit/chaos/runner/local_sidecar.h"
#include "tests/unit/chaos/scenario_text.h"

namespace outrigger::chaos {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view kDelay = "{delay: {fixed: 40ms}}";

/// Runs the small scenario against a sidecar of this process. `on_wait` is called about ten times a second with the engine.
class ChaosRun : public ::testing::Test {
 protected:
  static Scenario scenario(LocalSidecar& sidecar, const std::function<std::string(std::string)>& change = [](std::string text) { return text; }) {
    auto text = with(kScenario, "baseline: 4s, inject: 4s, recover: 4s", "baseline: 1s, inject: 2s, recover: 1s");
    text = with(text, "{delay: {fixed: 100ms, jitter: 20ms}}", kDelay);
    text = with(text, "trigger: {percent_ppm: 500000, seed: 7}", "trigger: {seed: 7}");
    text = with(text, "{min: 80ms, max: 200ms}", "{min: 30ms}");
    const auto read = read_scenario(change(text), "s.yaml", {{"url", sidecar.url()}, {"admin", sidecar.admin()}, {"rate", "200/s"}});
    EXPECT_TRUE(read.has_value()) << read.error().to_string();
    return read.value_or(Scenario{});
  }

  static Environment environment(std::function<std::optional<int>()> on_wait = [] { return std::optional<int>{}; }) {
    return {.make_driver = [](const std::string&, const std::string& admin) { return make_sidecar_driver(admin); },
            .check_probe = check_probe,
            .wait_for_stop =
                [on_wait](std::chrono::milliseconds timeout) {
                  std::this_thread::sleep_for(timeout);  // the time of a phase, which is what the run waits for
                  return on_wait();
                },
            .progress = [](std::string_view) {},
            .clean_up_budget = 300ms};
  }

  static RunReport execute(LocalSidecar& sidecar, const Scenario& read, const Environment& outside) {
    auto journal = Journal::create(sidecar.folder() / "journal.jsonl", "01R");
    EXPECT_TRUE(journal.has_value());
    auto report = run(read, "01R", **journal, outside);
    for (const auto& reason : report.decision.reasons) {
      std::cout << "  because: " << reason << '\n';
    }
    return report;
  }

  static JournalState journal_of(LocalSidecar& sidecar) {
    std::ifstream in(sidecar.folder() / "journal.jsonl");
    const auto state = replay(std::string(std::istreambuf_iterator<char>(in), {}), "journal.jsonl");
    EXPECT_TRUE(state.has_value());
    return state.value_or(JournalState{});
  }

  static fault::Specification foreign() {
    fault::Specification other;
    other.id = "foreign";
    other.reason = "someone else's";
    other.ttl = 1min;
    other.match.path_prefix = "/elsewhere";
    other.action = fault::Abort{503};
    return other;
  }
};

TEST_F(ChaosRun, PassesWhenTheDoseIsProvenAndTheHypothesisHolds) {
  LocalSidecar sidecar;
  const auto report = execute(sidecar, scenario(sidecar), environment());
  EXPECT_EQ(report.decision.verdict, Verdict::kPass);
  ASSERT_EQ(report.doses.size(), 1U);
  EXPECT_GE(report.doses.front().hits, 299U);
  EXPECT_GE(report.doses.front().shift, 30ms);
  EXPECT_TRUE(sidecar.engine().list().empty());
  EXPECT_TRUE(journal_of(sidecar).open.empty());
  EXPECT_EQ(journal_of(sidecar).exit_code, 0);
}

TEST_F(ChaosRun, FailsWhenTheHypothesisDoesNotHold) {
  LocalSidecar sidecar;
  const auto read = scenario(sidecar, [](const std::string& text) {
    return with(with(with(text, kDelay, "{abort: {status: 503}}"), ", p50_shift: {min: 30ms}", ""), "{metric: error_ratio, max: 0.5, consecutive: 2}",
                "{metric: error_ratio, max: 1}");
  });
  const auto report = execute(sidecar, read, environment());
  EXPECT_EQ(report.decision.verdict, Verdict::kFailed);
  EXPECT_TRUE(sidecar.engine().list().empty());
}

TEST_F(ChaosRun, RefusesWhenFaultsAreNotEnabled) {
  LocalSidecar sidecar(false);
  const auto report = execute(sidecar, scenario(sidecar), environment());
  EXPECT_EQ(report.decision.verdict, Verdict::kRefused);
  EXPECT_FALSE(report.load.has_value());
  EXPECT_THAT(report.decision.reasons.front(), HasSubstr("faults must be enabled"));
  EXPECT_EQ(journal_of(sidecar).faults, 0U);
}

TEST_F(ChaosRun, RefusesWhenNobodyAnswersAtTheTarget) {
  LocalSidecar sidecar;
  sidecar.stop_admin();
  EXPECT_EQ(execute(sidecar, scenario(sidecar), environment()).decision.verdict, Verdict::kRefused);
}

TEST_F(ChaosRun, RefusesBesideAForeignFaultAndLeavesItAlone) {
  LocalSidecar sidecar;
  ASSERT_TRUE(sidecar.engine().create(foreign()));
  EXPECT_EQ(execute(sidecar, scenario(sidecar), environment()).decision.verdict, Verdict::kRefused);
  EXPECT_EQ(sidecar.engine().list().size(), 1U);
}

TEST_F(ChaosRun, RefusesWhenTheProbeIsNotMet) {
  LocalSidecar sidecar;
  const auto read = scenario(sidecar, [](const std::string& text) { return with(text, "/api/health", "/api/nothing"); });
  EXPECT_EQ(execute(sidecar, read, environment()).decision.verdict, Verdict::kRefused);
}

TEST_F(ChaosRun, IsInconclusiveWithoutHits) {
  LocalSidecar sidecar;
  const auto read = scenario(sidecar, [](const std::string& text) {
    return with(with(text, "path_prefix: /v1/orders", "path_prefix: /v1/nothing"), ", p50_shift: {min: 30ms}", "");
  });
  const auto report = execute(sidecar, read, environment());
  EXPECT_EQ(report.decision.verdict, Verdict::kInconclusive);
  EXPECT_EQ(report.doses.front().hits, 0U);
}

TEST_F(ChaosRun, IsInconclusiveWhenTheFaultVanishes) {
  LocalSidecar sidecar;
  bool is_wiped = false;
  const auto report = execute(sidecar, scenario(sidecar), environment([&] {
                                if (const auto armed = sidecar.engine().list(); !is_wiped && !armed.empty() && armed.front().hits > 0) {
                                  sidecar.engine().disarm_all(fault::DisarmReason::kKillSwitch);
                                  is_wiped = true;
                                }
                                return std::optional<int>{};
                              }));
  EXPECT_EQ(report.decision.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(report.doses.front().is_lost);
}

TEST_F(ChaosRun, IsAbortedAndCleanAfterASignalInInject) {
  LocalSidecar sidecar;
  ASSERT_TRUE(sidecar.engine().list().empty());
  const auto report =
      execute(sidecar, scenario(sidecar), environment([&] { return sidecar.engine().list().empty() ? std::optional<int>{} : SIGINT; }));
  EXPECT_EQ(report.decision.verdict, Verdict::kAborted);
  EXPECT_THAT(report.decision.reasons.front(), HasSubstr("SIGINT in inject"));
  EXPECT_TRUE(sidecar.engine().list().empty());
  EXPECT_TRUE(journal_of(sidecar).open.empty());
}

TEST_F(ChaosRun, IsAbortedByAGuardrail) {
  LocalSidecar sidecar;
  const auto read = scenario(sidecar, [](const std::string& text) {
    return with(with(with(text, kDelay, "{abort: {status: 503}}"), ", p50_shift: {min: 30ms}", ""), "consecutive: 2}",
                "consecutive: 2, interval: 200ms}");
  });
  const auto report = execute(sidecar, read, environment());
  EXPECT_EQ(report.decision.verdict, Verdict::kAborted);
  EXPECT_THAT(report.decision.reasons.front(), HasSubstr("guardrail"));
  EXPECT_TRUE(sidecar.engine().list().empty());
}

TEST_F(ChaosRun, CleanUpThatCannotBeSeenOverridesAllAndIsRecoveredLater) {
  LocalSidecar sidecar;
  const auto report = execute(sidecar, scenario(sidecar), environment([&]() -> std::optional<int> {
                                if (!sidecar.engine().list().empty()) {
                                  sidecar.stop_admin();
                                  return SIGTERM;
                                }
                                return std::nullopt;
                              }));
  EXPECT_EQ(report.decision.verdict, Verdict::kCleanUpIncomplete);
  EXPECT_EQ(sidecar.engine().list().size(), 1U);
  EXPECT_EQ(journal_of(sidecar).open.size(), 1U);

  sidecar.start_admin();
  ASSERT_TRUE(sidecar.engine().create(foreign()));
  const auto recover_again = [&] {
    const auto journal = Journal::reopen(sidecar.folder() / "journal.jsonl");
    EXPECT_TRUE(journal.has_value());
    const auto recovery = recover(**journal, environment());
    EXPECT_TRUE(recovery.has_value());
    return *recovery;
  };
  const auto first = recover_again();
  EXPECT_EQ(first.decision.verdict, Verdict::kPass);
  EXPECT_EQ(first.ended, std::vector<std::string>{"chaos-01r-slow"});
  ASSERT_EQ(sidecar.engine().list().size(), 1U);
  EXPECT_EQ(sidecar.engine().list().front().specification.id, "foreign");
  const auto second = recover_again();
  EXPECT_EQ(second.decision.verdict, Verdict::kPass);
  EXPECT_TRUE(second.ended.empty() && second.absent.empty());
}

}  // namespace
}  // namespace outrigger::chaos
