#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/http/message.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"

namespace outrigger::fault {

/// Which requests: everything that is set must hold.
struct HttpMatch {
  std::optional<http::Method> method;
  std::string path_prefix;                                   ///< whole segments of the decoded path; empty: every path
  std::vector<std::pair<std::string, std::string>> headers;  ///< name in lower case, exact value; sorted by name
  bool operator==(const HttpMatch&) const = default;
};

/// Which of the matching requests, as a keyed hash decides.
struct Trigger {
  static constexpr std::uint32_t kAlways = 1'000'000;
  std::uint32_t percent_ppm = kAlways;  ///< parts per million
  std::uint64_t seed = 0;
  bool operator==(const Trigger&) const = default;
};

/// Waits `fixed` plus up to `jitter`, spread evenly, before the request goes on.
struct Delay {
  std::chrono::nanoseconds fixed{0};
  std::chrono::nanoseconds jitter{0};
  bool operator==(const Delay&) const = default;
};

/// Answers with the status instead of the upstream.
struct Abort {
  int status = 503;
  bool operator==(const Abort&) const = default;
};

using Action = std::variant<Delay, Abort>;

/// Value of the metrics' label `action`: "delay" or "abort".
[[nodiscard]] std::string_view name(const Action& action);

/// A fault as it was asked for.
struct Specification {
  std::string id;
  std::string reason;
  std::chrono::nanoseconds ttl{0};
  HttpMatch match;
  Trigger trigger;
  Action action;
  bool operator==(const Specification&) const = default;
};

/// A fault as it stands.
struct State {
  Specification specification;
  std::uint64_t hits = 0;     ///< requests that it was applied to
  std::uint64_t skipped = 0;  ///< requests that matched and were left alone
  WallTime created;
  WallTime expires;
};

/// What a specification may ask for.
struct Bounds {
  std::chrono::nanoseconds max_ttl = std::chrono::minutes{10};
  std::chrono::nanoseconds max_delay = std::chrono::minutes{1};  ///< fixed + jitter
};

/// Errors: kInvalidArgument; the context is the field, e.g. "fault.ttl".
[[nodiscard]] Result<void> validate(const Specification& specification, const Bounds& bounds);

/// Whether the request is one of those that the fault is for; the trigger is not asked.
[[nodiscard]] bool matches(const HttpMatch& match, const http::Request& request);

/// Whether the trigger selects the request with this key: the same answer for the same seed, id and key, for ever.
[[nodiscard]] bool selects(const Trigger& trigger, std::string_view fault_id, std::string_view key);

/// The delay of the request with this key: at least `fixed`, less than `fixed + jitter` unless jitter is 0. Repeatable as above.
[[nodiscard]] std::chrono::nanoseconds draw(const Delay& delay, const Trigger& trigger, std::string_view fault_id, std::string_view key);

}  // namespace outrigger::fault
