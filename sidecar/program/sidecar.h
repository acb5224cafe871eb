#pragma once

#include <cstddef>
#include <memory>

#include "lib/runtime/error.h"
#include "lib/runtime/lifecycle.h"
#include "sidecar/program/settings.h"

namespace outrigger::sidecar {

/// The parts of outrigger-sidecar, wired: fault engine, proxy, admin API, operations port. Used by one thread.
class Sidecar final {
 public:
  explicit Sidecar(const SidecarSettings& settings);
  ~Sidecar();
  Sidecar(const Sidecar&) = delete;
  Sidecar& operator=(const Sidecar&) = delete;

  /// Binds everything, then writes the port file, if one is wanted. The upstream need not be there yet.
  /// Errors: kUnavailable when a port or the socket is taken, kInvalidArgument for an address that is none.
  [[nodiscard]] Result<void> start();

  /// Housekeeping: call it a few times a second.
  void tick();

  /// The kill switch: new faults can be armed afterwards.
  void disarm_all_faults();

  /// Not ready and no faults any more; serves on for the drain delay (another stop signal cuts it short), then takes no more and
  /// waits for what is in flight. Returns how many requests were cut off at the drain timeout.
  [[nodiscard]] std::size_t drain(StopSignal& signals);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace outrigger::sidecar
