#include "lib/kafka/internal/stall_watch.h"

#include <algorithm>

namespace outrigger::kafka::internal {

void StallWatch::joining(MonotonicTime now) {
  partitions_.clear();
  joining_since_ = now;
}

void StallWatch::begin(const Position& position, MonotonicTime now) {
  const auto [entry, is_new] = partitions_.try_emplace(position.partition);
  auto& reading = entry->second;
  const bool is_again = !is_new && reading.next == position.next && reading.was_begun_again;
  reading = {.next = position.next, .silent_since = now, .was_begun_again = is_again};
}

void StallWatch::progress(const Position& position, MonotonicTime now) {
  if (const auto found = partitions_.find(position.partition); found != partitions_.end()) {
    found->second = {.next = position.next, .silent_since = now};
  }
}

bool StallWatch::joins_too_long(MonotonicTime now) const { return joining_since_ && now - *joining_since_ >= limits_.joining; }

std::optional<Position> StallWatch::suspect(MonotonicTime now) const {
  const auto longest = std::ranges::min_element(partitions_, {}, [](const auto& entry) { return entry.second.silent_since; });
  if (longest == partitions_.end() || now - longest->second.silent_since < limits_.silence) {
    return std::nullopt;
  }
  return Position{.partition = longest->first, .next = longest->second.next};
}

StallWatch::Remedy StallWatch::answered(const TopicPartition& partition, std::optional<std::int64_t> end, MonotonicTime now) {
  const auto found = partitions_.find(partition);
  if (found == partitions_.end()) {
    return Remedy::kNone;
  }
  auto& reading = found->second;
  if (!end) {
    const auto since = reading.unanswered_since.value_or(now);
    reading.unanswered_since = since;
    return now - since >= limits_.joining ? Remedy::kStartAnew : Remedy::kNone;
  }
  reading.unanswered_since.reset();
  reading.silent_since = now;
  if (*end <= reading.next) {
    return Remedy::kNone;  // there is nothing to read
  }
  if (reading.was_begun_again) {
    return Remedy::kStartAnew;
  }
  reading.was_begun_again = true;
  return Remedy::kReadAgain;
}

}  // namespace outrigger::kafka::internal
