#include <bit>

#include "sidecar/fault/internal/siphash.h"

namespace outrigger::fault::internal {
namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void absorb(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

/// Up to 8 bytes, little-endian.
std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    word = (word << 8U) | static_cast<std::uint8_t>(bytes[i]);
  }
  return word;
}

}  // namespace

std::uint64_t siphash_2_4(std::uint64_t key0, std::uint64_t key1, std::string_view message) {
  SipState state{key0 ^ 0x736f6d6570736575U, key1 ^ 0x646f72616e646f6dU, key0 ^ 0x6c7967656e657261U, key1 ^ 0x7465646279746573U};
  const auto length = static_cast<std::uint64_t>(message.size());
  while (message.size() >= 8) {
    state.absorb(word_of(message.substr(0, 8)));
    message.remove_prefix(8);
  }
  state.absorb((length << 56U) | word_of(message));
  state.v2 ^= 0xffU;
  for (int i = 0; i < 4; ++i) {
    state.round();
  }
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace outrigger::fault::internal
