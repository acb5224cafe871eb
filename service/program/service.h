#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "lib/runtime/error.h"
#include "lib/runtime/lifecycle.h"
#include "service/program/settings.h"

namespace outrigger::service {

/// The parts of outrigger-service, wired: journal, participants, engine, API, operations port.
class Service final {
 public:
  /// Reads the definitions and opens the stores. Errors name file, line or folder and the remedy.
  [[nodiscard]] static Result<std::unique_ptr<Service>> open(const ServiceSettings& settings);
  ~Service();

  /// Binds the ports and starts to restore. Errors: kUnavailable when a port is taken.
  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<void> ready() const;
  /// Writes the port file, if one is wanted.
  [[nodiscard]] Result<void> announce() const;

  /// The exit code that something other than a signal asked for, with a SIGTERM to this process.
  [[nodiscard]] std::optional<int> demanded_exit() const;

  /// Stops without losing what was acknowledged: not ready, serves on for the drain delay (another signal cuts it short), takes
  /// no more, answers what is in flight, commits, closes. Returns how many requests were cut off at the drain timeout.
  [[nodiscard]] std::size_t drain(StopSignal& stop);

 private:
  struct Parts;
  explicit Service(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace outrigger::service
