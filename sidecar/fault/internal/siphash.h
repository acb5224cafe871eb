#pragma once

#include <cstdint>
#include <string_view>

namespace outrigger::fault::internal {

/// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) with the 128-bit key (key0, key1).
[[nodiscard]] std::uint64_t siphash_2_4(std::uint64_t key0, std::uint64_t key1, std::string_view message);

}  // namespace outrigger::fault::internal
