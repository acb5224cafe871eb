#include "sidecar/fault/fault.h"

#include <algorithm>
#include <format>
#include <utility>

#include "lib/runtime/duration.h"
#include "sidecar/fault/internal/siphash.h"

namespace outrigger::fault {
namespace {

constexpr std::size_t kMaxIdBytes = 63;
constexpr std::size_t kMaxReasonBytes = 256;
constexpr std::size_t kMaxPathBytes = 1024;
constexpr std::size_t kMaxHeaders = 8;
constexpr std::size_t kMaxHeaderBytes = 1024;

std::unexpected<Error> wrong(std::string field, std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(field));
}

bool is_id_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// tchar of RFC 9110, without upper case.
bool is_header_name_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || std::string_view("!#$%&'*+-.^_`|~").contains(c); }

Result<void> validate_id(const std::string& id) {
  const bool is_good = !id.empty() && id.size() <= kMaxIdBytes && std::ranges::all_of(id, is_id_character) &&
                       std::string_view("-_.").find(id.front()) == std::string_view::npos;
  if (!is_good) {
    return wrong("fault.id", std::format("\"{:.80}\" is no fault id: use 1 to {} of a-z, 0-9, '-', '_' and '.', beginning with a letter or digit", id,
                                         kMaxIdBytes));
  }
  return {};
}

Result<void> validate_match(const HttpMatch& match) {
  const std::string& path = match.path_prefix;
  if (!path.empty() && (path.front() != '/' || path.size() > kMaxPathBytes || std::ranges::any_of(path, is_control))) {
    return wrong("fault.match.http.path_prefix", std::format("\"{:.80}\" is no path prefix: begin it with '/', e.g. \"/v1/orders\"", path));
  }
  if (path.contains('?')) {
    return wrong("fault.match.http.path_prefix", "the query is not matched: end the prefix before '?'");
  }
  if (match.headers.size() > kMaxHeaders) {
    return wrong("fault.match.http.headers", std::format("{} headers are too many: match at most {}", match.headers.size(), kMaxHeaders));
  }
  for (const auto& [header, value] : match.headers) {
    if (header.empty() || !std::ranges::all_of(header, is_header_name_character)) {
      return wrong("fault.match.http.headers", std::format("\"{:.80}\" is no header name", header));
    }
    if (header.size() + value.size() > kMaxHeaderBytes || std::ranges::any_of(value, is_control)) {
      return wrong("fault.match.http.headers", std::format("the value of \"{:.80}\" is too long or has control characters", header));
    }
  }
  return {};
}

Result<void> validate_action(const Action& action, const Bounds& bounds) {
  if (const auto* delay = std::get_if<Delay>(&action)) {
    const auto negative = std::chrono::nanoseconds{0};
    if (delay->fixed < negative || delay->jitter < negative || (delay->fixed == negative && delay->jitter == negative)) {
      return wrong("fault.delay", "fixed and jitter must not be negative, and one of them more than zero");
    }
    // Each alone first: their sum could overflow.
    if (delay->fixed > bounds.max_delay || delay->jitter > bounds.max_delay || delay->fixed + delay->jitter > bounds.max_delay) {
      return wrong("fault.delay", std::format("fixed + jitter exceeds {}: lower them", format_duration(bounds.max_delay)));
    }
    return {};
  }
  const int status = std::get<Abort>(action).status;
  if (status < 400 || status > 599) {
    return wrong("fault.abort.status", std::format("{} is no error status: use 400 to 599", status));
  }
  return {};
}

bool has_path_prefix(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (prefix.empty() || prefix.ends_with('/') || path.size() == prefix.size() || path[prefix.size()] == '/');
}

/// One number for a seed, a fault and a request. `purpose` keeps the choice and the size of the jitter independent.
std::uint64_t hash(std::uint64_t seed, std::uint64_t purpose, std::string_view fault_id, std::string_view key) {
  std::string message;
  message.reserve(fault_id.size() + key.size() + 1);
  message.append(fault_id).push_back('\0');  // ids have no NUL, so no two pairs read alike
  message.append(key);
  return internal::siphash_2_4(seed, purpose, message);
}

constexpr std::uint64_t kSelect = 1;
constexpr std::uint64_t kJitter = 2;

__extension__ typedef unsigned __int128 Wide;  // a GCC and Clang type: the product of two 64-bit numbers

/// Spreads 64 random bits evenly over [0, bound).
std::uint64_t scale(std::uint64_t random, std::uint64_t bound) { return static_cast<std::uint64_t>((static_cast<Wide>(random) * bound) >> 64U); }

}  // namespace

std::string_view name(const Action& action) { return std::holds_alternative<Delay>(action) ? "delay" : "abort"; }

Result<void> validate(const Specification& specification, const Bounds& bounds) {
  if (auto id = validate_id(specification.id); !id) {
    return id;
  }
  if (specification.reason.size() > kMaxReasonBytes || std::ranges::any_of(specification.reason, is_control)) {
    return wrong("fault.reason", std::format("use one line of at most {} bytes", kMaxReasonBytes));
  }
  if (specification.ttl <= std::chrono::nanoseconds{0}) {
    return wrong("fault.ttl", std::format("a fault must end by itself: set a ttl of more than zero, at most {}", format_duration(bounds.max_ttl)));
  }
  if (specification.ttl > bounds.max_ttl) {
    return wrong("fault.ttl", std::format("{} is longer than this sidecar allows: at most {}", format_duration(specification.ttl),
                                          format_duration(bounds.max_ttl)));
  }
  if (specification.trigger.percent_ppm > Trigger::kAlways) {
    return wrong("fault.trigger.percent_ppm", std::format("{} is more than 1000000 parts per million", specification.trigger.percent_ppm));
  }
  if (auto match = validate_match(specification.match); !match) {
    return match;
  }
  return validate_action(specification.action, bounds);
}

bool matches(const HttpMatch& match, const http::Request& request) {
  if (match.method && *match.method != request.method) {
    return false;
  }
  if (!has_path_prefix(request.path, match.path_prefix)) {
    return false;
  }
  return std::ranges::all_of(match.headers, [&](const auto& header) { return request.header(header.first) == std::string_view(header.second); });
}

bool selects(const Trigger& trigger, std::string_view fault_id, std::string_view key) {
  return scale(hash(trigger.seed, kSelect, fault_id, key), Trigger::kAlways) < trigger.percent_ppm;
}

std::chrono::nanoseconds draw(const Delay& delay, const Trigger& trigger, std::string_view fault_id, std::string_view key) {
  const std::uint64_t extra = scale(hash(trigger.seed, kJitter, fault_id, key), static_cast<std::uint64_t>(delay.jitter.count()));
  return delay.fixed + std::chrono::nanoseconds{static_cast<std::int64_t>(extra)};
}

}  // namespace outrigger::fault
