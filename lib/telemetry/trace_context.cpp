#include "lib/telemetry/trace_context.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <format>

#include "lib/runtime/error.h"

namespace outrigger::telemetry {
namespace {

std::uint64_t random_word() {
  std::uint64_t word = 0;
  do {
    if (getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word)) {
      impossible("getrandom gave no bytes");
    }
  } while (word == 0);
  return word;
}

bool is_id(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return std::ranges::all_of(text, is_hex) && std::ranges::any_of(text, [](char c) { return c != '0'; });
}

}  // namespace

std::string TraceContext::traceparent() const { return std::format("00-{}-{}-{}", trace_id, span_id, sampled ? "01" : "00"); }

TraceContext TraceContext::child() const { return {trace_id, std::format("{:016x}", random_word()), sampled}; }

std::optional<TraceContext> parse_traceparent(std::string_view header) {
  // A later version may add fields after a dash; version ff is invalid.
  if (header.size() < 55 || header[2] != '-' || header[35] != '-' || header[52] != '-' || header.starts_with("ff")) {
    return std::nullopt;
  }
  if (header.size() > 55 && (header.starts_with("00") || header[55] != '-')) {
    return std::nullopt;
  }
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!hex(header[0]) || !hex(header[1]) || !hex(header[53]) || !hex(header[54]) || !is_id(header.substr(3, 32)) || !is_id(header.substr(36, 16))) {
    return std::nullopt;
  }
  const char low = header[54];
  const unsigned flags = static_cast<unsigned>(low <= '9' ? low - '0' : low - 'a' + 10);
  return TraceContext{std::string(header.substr(3, 32)), std::string(header.substr(36, 16)), (flags & 1U) != 0};
}

TraceContext new_trace() { return {std::format("{:016x}{:016x}", random_word(), random_word()), std::format("{:016x}", random_word()), true}; }

}  // namespace outrigger::telemetry
