#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/runtime/clock.h"

namespace outrigger {

/// A ULID (github.com/ulid/spec): 26 characters of Crockford base 32, 48 bits of time and 80 random bits.
/// Sorts by time of creation to the millisecond. Not a secret.
[[nodiscard]] std::string make_ulid(WallTime now, std::uint64_t random_high, std::uint64_t random_low);

/// A ULID for now from the operating system's randomness. Thread-safe.
[[nodiscard]] std::string make_ulid();

/// 64-bit FNV-1a: stable across platforms and releases, so it may decide partitions and be stored.
[[nodiscard]] constexpr std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<std::uint8_t>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

}  // namespace outrigger
