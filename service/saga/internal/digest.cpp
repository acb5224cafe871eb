#include "service/saga/internal/digest.h"

#include <array>
#include <format>

#include <openssl/evp.h>

#include "lib/runtime/error.h"

namespace outrigger::saga {

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    impossible("SHA-256 failed", "OpenSSL has no default provider");
  }
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    hex += std::format("{:02x}", digest.at(i));
  }
  return hex;
}

}  // namespace outrigger::saga
