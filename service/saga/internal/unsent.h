#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace outrigger::saga {

/// Sagas whose commands are not handed over yet, queued by where the commands go: a participant without room holds up only its own.
/// Which commands those are follows from the state at the time of sending. One thread.
class Unsent final {
 public:
  /// The destination of what was in flight when the process ended: known once the saga is loaded.
  static constexpr std::string_view kAnywhere{};

  enum class Sent : std::uint8_t { kAll, kNoRoom };

  /// Once for each pair.
  void add(std::string_view destination, const std::string& saga_id);
  [[nodiscard]] bool waits_for(std::string_view destination) const { return queues_.contains(destination); }
  /// A command of the saga found no room at its participant, which has not seen it. (What was in flight when the process ended was seen.)
  [[nodiscard]] bool waits_for_room(const std::string& saga_id) const;
  [[nodiscard]] bool empty() const { return queues_.empty(); }

  /// The oldest first for each destination, until it has no room or `at_most` were tried. `send` may add. True: something was sent.
  bool send(std::size_t at_most, const std::function<Sent(const std::string& destination, const std::string& saga_id)>& send);

 private:
  std::map<std::string, std::deque<std::string>, std::less<>> queues_;  // none is empty
  std::set<std::pair<std::string, std::string>> pairs_;                 // saga, destination
};

}  // namespace outrigger::saga
