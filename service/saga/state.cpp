#include "service/saga/state.h"

#include <array>
#include <charconv>
#include <format>

#include "lib/runtime/ids.h"
#include "service/saga/event.h"

namespace outrigger::saga {
namespace {

constexpr std::array<std::string_view, kSagaStatusCount> kSagaStatuses{"RUNNING", "COMPENSATING", "COMPLETED", "COMPENSATED",
                                                                       "STUCK",   "ABANDONED",    "PAUSED"};
constexpr std::array<std::string_view, 8> kStepStatuses{"PENDING", "DISPATCHED",   "SUCCEEDED",   "FAILED",
                                                        "UNKNOWN", "COMPENSATING", "COMPENSATED", "SKIPPED"};
constexpr std::array<std::string_view, 8> kOperations{"retry", "skip", "complete", "compensate", "abandon", "cancel", "pause", "resume"};

template <class Enum, std::size_t N>
Result<Enum> parse(std::string_view what, const std::array<std::string_view, N>& names, std::string_view text) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) {
      return static_cast<Enum>(i);
    }
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  return fail(ErrorCode::kInvalidArgument, std::format("unknown {} '{}': use one of {}", what, text, known));
}

}  // namespace

bool is_finished(SagaStatus status) {
  return status == SagaStatus::kCompleted || status == SagaStatus::kCompensated || status == SagaStatus::kAbandoned;
}

bool SagaState::is_finished() const { return saga::is_finished(status); }

std::string_view name(SagaStatus status) { return kSagaStatuses.at(static_cast<std::size_t>(status)); }
std::string_view name(StepStatus status) { return kStepStatuses.at(static_cast<std::size_t>(status)); }
std::string_view name(Operation operation) { return kOperations.at(static_cast<std::size_t>(operation)); }
Result<SagaStatus> parse_saga_status(std::string_view text) { return parse<SagaStatus>("saga status", kSagaStatuses, text); }
Result<Operation> parse_operation(std::string_view text) { return parse<Operation>("operation", kOperations, text); }

std::uint32_t partition_of_key(std::string_view idempotency_key, std::uint32_t partitions) {
  return static_cast<std::uint32_t>(stable_hash(idempotency_key) % partitions);
}

std::string make_saga_id(std::uint32_t partition, std::string_view ulid) { return std::format("p{}-{}", partition, ulid); }

Result<std::uint32_t> partition_of_id(std::string_view saga_id) {
  std::uint32_t partition = 0;
  const auto dash = saga_id.find('-');
  const auto* end = saga_id.data() + (dash == std::string_view::npos ? 0 : dash);
  const bool has_form = saga_id.starts_with('p') && dash != std::string_view::npos && dash >= 2 && saga_id.size() - dash == 27;
  const bool has_leading_zero = has_form && saga_id[1] == '0' && dash > 2;
  if (!has_form || has_leading_zero || std::from_chars(saga_id.data() + 1, end, partition) != std::from_chars_result{end, std::errc{}}) {
    return fail(ErrorCode::kInvalidArgument, std::format("'{}' is no saga id: it looks like p7-01HZX3V6Q8M2T4R9K5W7Y1B3DC", saga_id.substr(0, 64)));
  }
  return partition;
}

std::string format_time(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  auto rest = static_cast<std::uint64_t>((time - day).count());
  // Written by hand: std::format of a time costs a microsecond, and a saga's JSON holds a dozen.
  std::string text = "0000-00-00T00:00:00.000Z";
  const auto put = [&](std::size_t at, std::size_t digits, std::uint64_t number) {
    for (auto i = at + digits; i > at; --i, number /= 10) {
      text[i - 1] = static_cast<char>('0' + number % 10);
    }
  };
  put(0, 4, static_cast<std::uint64_t>(static_cast<int>(date.year())));
  put(5, 2, static_cast<unsigned>(date.month()));
  put(8, 2, static_cast<unsigned>(date.day()));
  put(20, 3, rest % 1000);
  rest /= 1000;
  put(17, 2, rest % 60);
  rest /= 60;
  put(14, 2, rest % 60);
  put(11, 2, rest / 60);
  return text;
}

}  // namespace outrigger::saga
