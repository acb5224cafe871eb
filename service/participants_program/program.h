#pragma once

#include <memory>
#include <optional>

#include "lib/runtime/error.h"
#include "service/participants_program/settings.h"

namespace outrigger::participants {

/// The parts of outrigger-participants, wired: databases, carriers, operations port.
class Program final {
 public:
  /// Makes topics (if told to), opens the databases, binds the port, begins to read commands.
  [[nodiscard]] static Result<std::unique_ptr<Program>> start(const ParticipantsSettings& settings);
  /// Finishes what is under way.
  ~Program();

  [[nodiscard]] Result<void> ready() const;
  /// Writes the port file, if one is wanted.
  [[nodiscard]] Result<void> announce() const;
  /// The exit code that something other than a signal asked for, with a SIGTERM to this process.
  [[nodiscard]] std::optional<int> demanded_exit() const;

 private:
  struct Parts;
  explicit Program(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace outrigger::participants
