#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chaos/runner/environment.h"
#include "chaos/runner/journal.h"
#include "chaos/spec/scenario.h"

namespace outrigger::chaos {

/// The faults of one run, from their intents to their verified end. Its destructor reverts what still needs it, so that no way out leaves a
/// fault behind. Not thread-safe. What is given to the constructor outlives it.
class ArmedFaults final {
 public:
  struct Progress {
    const Fault* fault = nullptr;
    std::string armed_id;
    std::uint64_t hits = 0;
    bool is_lost = false;  ///< gone before it was reverted
  };

  ArmedFaults(const Scenario& scenario, const std::string& run_id, const Environment& environment, Journal& journal);
  ~ArmedFaults();
  ArmedFaults(const ArmedFaults&) = delete;
  ArmedFaults& operator=(const ArmedFaults&) = delete;

  /// Arms every fault, each after its intent is on the disk. At an error the rest is not armed; call revert() then too.
  [[nodiscard]] Result<void> apply();
  /// Asks the targets for the hits; journals the first time that they prove a fault.
  void poll();
  /// Ends every fault that may be armed; idempotent. Returns those that could not be seen to be gone, as texts.
  std::vector<std::string> revert();

  [[nodiscard]] std::vector<Progress> progress() const;

 private:
  struct Armed {
    Progress progress;
    std::unique_ptr<FaultDriver> driver;
    bool may_be_armed = false;
    bool is_armed = false;
    bool is_proven = false;
  };
  void see(Armed& armed, const FaultState& state);

  const Environment& environment_;
  Journal& journal_;
  std::vector<Armed> faults_;
};

}  // namespace outrigger::chaos
