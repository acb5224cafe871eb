#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::chaos {

inline constexpr std::size_t kLargestJournalBytes = std::size_t{16} << 20;

/// A fault of a journal whose end was not verified: it may still be armed.
struct OpenFault {
  std::string armed_id;
  std::string driver;
  std::string admin;
  std::string last_event;  ///< intent: it may never have been armed
};

struct JournalState {
  std::string run_id;
  std::string scenario;
  std::vector<OpenFault> open;
  std::uint64_t faults = 0;      ///< that the run meant to arm
  std::optional<int> exit_code;  ///< of the end record; absent: the run was interrupted
  std::uint64_t last_sequence = 0;
  std::size_t whole_bytes = 0;  ///< up to the last whole line: a torn one was never acted on
};

/// What a journal says. Pure. A torn last line is normal. Errors: kInvalidArgument with file:line.
[[nodiscard]] Result<JournalState> replay(std::string_view text, const std::string& file);

}  // namespace outrigger::chaos
