#include "lib/runtime/ids.h"

#include <sys/random.h>

#include <array>

#include "lib/runtime/error.h"

namespace outrigger {
namespace {

constexpr std::string_view kCrockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

}  // namespace

std::string make_ulid(WallTime now, std::uint64_t random_high, std::uint64_t random_low) {
  std::string id(26, '0');
  auto milliseconds = static_cast<std::uint64_t>(now.time_since_epoch().count());
  for (std::size_t i = 10; i-- > 0; milliseconds >>= 5U) {
    id[i] = kCrockford[milliseconds & 31U];
  }
  // 16 characters of 5 bits: eight from each word.
  for (std::size_t i = 18; i-- > 10; random_high >>= 5U) {
    id[i] = kCrockford[random_high & 31U];
  }
  for (std::size_t i = 26; i-- > 18; random_low >>= 5U) {
    id[i] = kCrockford[random_low & 31U];
  }
  return id;
}

std::string make_ulid() {
  std::array<std::uint64_t, 2> random{};
  if (getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    impossible("getrandom gave no bytes");
  }
  return make_ulid(wall_now(), random[0], random[1]);
}

}  // namespace outrigger
