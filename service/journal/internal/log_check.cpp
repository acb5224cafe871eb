#include "service/journal/internal/log_check.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace outrigger::journal {
namespace {

constexpr std::size_t kBlock = 32 * 1024;
constexpr std::size_t kHeader = 7;  // masked CRC-32C, length, type
constexpr std::uint8_t kFull = 1;
constexpr std::uint8_t kFirst = 2;  // of one that goes on in the next block, in fragments of type 3 and 4

constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    auto value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1U) ^ ((value & 1U) != 0 ? 0x82f63b78U : 0U);
    }
    table.at(byte) = value;
  }
  return table;
}();

std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xffU] ^ (crc >> 8U);
  }
  crc = ~crc;
  return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U;
}

std::uint32_t byte_at(std::string_view log, std::size_t offset) { return static_cast<std::uint8_t>(log[offset]); }

/// The length of the readable record at the offset, its header included; nothing when there is none.
std::optional<std::size_t> record_at(std::string_view log, std::size_t offset) {
  const auto block_left = kBlock - offset % kBlock;
  if (block_left < kHeader || log.size() - offset < kHeader) {
    return std::nullopt;
  }
  const auto whole = kHeader + byte_at(log, offset + 4) + (byte_at(log, offset + 5) << 8U);
  const auto type = byte_at(log, offset + 6);
  if (type == 0 || whole > block_left || whole > log.size() - offset) {
    return std::nullopt;
  }
  const auto stored = byte_at(log, offset) | (byte_at(log, offset + 1) << 8U) | (byte_at(log, offset + 2) << 16U) | (byte_at(log, offset + 3) << 24U);
  return masked_crc32c(log.substr(offset + 6, whole - 6)) == stored ? std::optional(whole) : std::nullopt;
}

std::optional<LogDamage> damage_of(std::string_view log) {
  std::size_t offset = 0;
  while (offset < log.size()) {
    if (kBlock - offset % kBlock < kHeader) {  // too small for a header: filled up
      offset += kBlock - offset % kBlock;
    } else if (const auto length = record_at(log, offset)) {
      offset += *length;
    } else {
      break;
    }
  }
  // Its length cannot be trusted, so whatever comes next may start anywhere. Only the beginning of a record tells of another commit:
  // of the last one, torn, a later fragment may have reached the disk before the first.
  for (auto next = offset + 1; next + kHeader <= log.size(); ++next) {
    const auto type = byte_at(log, next + 6);
    if ((type == kFull || type == kFirst) && record_at(log, next)) {
      return LogDamage{.file = {}, .offset = offset, .readable_from = next};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<LogDamage> find_log_damage(const std::filesystem::path& folder) {
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const auto stem = entry.path().stem().string();
    if (entry.path().extension() != ".log" || !std::ranges::all_of(stem, [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string log(std::istreambuf_iterator<char>(file), {});
    if (auto damage = damage_of(log)) {
      damage->file = entry.path();
      return damage;
    }
  }
  return std::nullopt;
}

}  // namespace outrigger::journal
