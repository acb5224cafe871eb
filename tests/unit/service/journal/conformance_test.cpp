#include "tests/conformance/journal_conformance.h"

#include "service/journal/embedded_journal.h"
#include "tests/support/simulated_journal.h"
#include "tests/support/temporary_folder.h"

namespace outrigger::testing {
namespace {

class EmbeddedHarness final : public JournalHarness {
 public:
  [[nodiscard]] Result<std::unique_ptr<journal::Journal>> open() override {
    return journal::open_embedded_journal({.folder = folder_.path(), .partitions = 4});
  }
  [[nodiscard]] bool send_input(const participant::Reply&) override { return false; }

 private:
  TemporaryFolder folder_;
};

class SimulatedHarness final : public JournalHarness {
 public:
  [[nodiscard]] Result<std::unique_ptr<journal::Journal>> open() override { return std::make_unique<SimulatedJournal>(log_, true); }
  [[nodiscard]] bool send_input(const participant::Reply& reply) override {
    log_.append_input(reply);
    return true;
  }
  void pump(journal::Journal& journal) override { dynamic_cast<SimulatedJournal&>(journal).pump(); }

 private:
  SimulatedLog log_{4};
};

INSTANTIATE_TEST_SUITE_P(Journals, JournalConformance,
                         ::testing::Values(HarnessFactory{"Embedded", [] { return std::make_unique<EmbeddedHarness>(); }},
                                           HarnessFactory{"Simulated", [] { return std::make_unique<SimulatedHarness>(); }}),
                         harness_name);

}  // namespace
}  // namespace outrigger::testing
