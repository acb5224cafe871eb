#include "lib/kafka/internal/instance_check.h"

#include <algorithm>

namespace outrigger::kafka::internal {
namespace {

constexpr std::chrono::minutes kPatience{1};

}  // namespace

// Who has not been told its id can be the holder or not. Taken for itself it joins once more, and the other, if there is one, finds a
// holder whose id is not its own: one of the two gives way, and they do not take turns.
InstanceHolder holder_of(std::string_view instance, std::string_view own_id, std::span<const GroupMember> members) {
  const auto holder = std::ranges::find(members, instance, &GroupMember::instance);
  return holder == members.end() || own_id.empty() || holder->id == own_id ? InstanceHolder::kItself : InstanceHolder::kAnother;
}

InstanceHolder InstanceCheck::ask(std::string_view own_id, std::chrono::milliseconds timeout) {
  const auto now = std::chrono::steady_clock::now();
  if (!admin_) {
    auto made = Admin::create(settings_);
    if (!made) {
      return InstanceHolder::kAnother;  // the same settings have served before: as careful as can be
    }
    admin_ = std::move(*made);
    first_asked_ = now;
  }
  const auto members = admin_->group_members(group_, timeout);
  if (!members) {
    return now - first_asked_ >= kPatience ? InstanceHolder::kAnother : InstanceHolder::kUnknown;
  }
  admin_.reset();
  return holder_of(instance_, own_id, *members);
}

}  // namespace outrigger::kafka::internal
