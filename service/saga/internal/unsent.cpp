#include "service/saga/internal/unsent.h"

namespace outrigger::saga {

void Unsent::add(std::string_view destination, const std::string& saga_id) {
  if (pairs_.emplace(saga_id, destination).second) {
    queues_[std::string(destination)].push_back(saga_id);
  }
}

bool Unsent::waits_for_room(const std::string& saga_id) const {
  const auto first_with_destination = pairs_.upper_bound({saga_id, std::string(kAnywhere)});
  return first_with_destination != pairs_.end() && first_with_destination->first == saga_id;
}

bool Unsent::send(std::size_t at_most, const std::function<Sent(const std::string& destination, const std::string& saga_id)>& send) {
  bool worked = false;
  for (auto each = queues_.begin(); each != queues_.end() && at_most > 0;) {
    auto& [destination, queue] = *each;
    while (!queue.empty() && at_most > 0) {
      --at_most;
      if (send(destination, queue.front()) == Sent::kNoRoom) {
        break;
      }
      pairs_.erase({queue.front(), destination});
      queue.pop_front();
      worked = true;
    }
    each = queue.empty() ? queues_.erase(each) : std::next(each);
  }
  return worked;
}

}  // namespace outrigger::saga
