#include "lib/participant/message.h"

#include <array>
#include <format>

namespace outrigger::participant {
namespace {

constexpr std::array<std::string_view, 2> kDirections{"do", "undo"};
constexpr std::array<std::string_view, 5> kOutcomes{"SUCCESS", "FAILED", "RETRY", "REFUSED", "IN_PROGRESS"};

template <class Enum, std::size_t N>
Result<Enum> parse(std::string_view what, const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) {
      return static_cast<Enum>(i);
    }
  }
  return fail(ErrorCode::kInvalidArgument, std::format("unknown {}: '{}'", what, text));
}

}  // namespace

std::string Command::idempotency_key() const { return std::format("{}/{}/{}", saga_id, step, name(direction)); }

Reply reply_to(const Command& command, Outcome outcome, std::string output, std::string reason) {
  return {.saga_id = command.saga_id,
          .partition = command.partition,
          .step = command.step,
          .direction = command.direction,
          .attempt = command.attempt,
          .outcome = outcome,
          .output = std::move(output),
          .reason = std::move(reason),
          .retry_after = std::nullopt,
          .traceparent = command.traceparent};
}

std::string_view name(Direction direction) { return kDirections.at(static_cast<std::size_t>(direction)); }
std::string_view name(Outcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }
Result<Direction> parse_direction(std::string_view text) { return parse<Direction>("direction", kDirections, text); }
Result<Outcome> parse_outcome(std::string_view text) { return parse<Outcome>("outcome", kOutcomes, text); }

}  // namespace outrigger::participant
