#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/http/message.h"
#include "lib/runtime/clock.h"
#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "sidecar/fault/fault.h"

namespace outrigger::fault {

/// What to do to one request: wait, then answer with an error, or go on to the upstream.
struct Decision {
  std::optional<std::chrono::nanoseconds> delay;
  std::optional<int> abort_status;
  std::string faults;  ///< ids of what is applied, comma separated, for the log and the header `outrigger-fault`

  [[nodiscard]] bool is_none() const { return !delay && !abort_status; }
};

/// The answer of an abort: problem details that say it was injected, and the header `outrigger-fault`.
[[nodiscard]] http::Response abort_response(const Decision& decision);

/// Why a fault ended; the label `reason` of its metric.
enum class DisarmReason { kExpired, kDeleted, kKillSwitch, kDrain };
[[nodiscard]] std::string_view name(DisarmReason reason);

struct Settings {
  bool is_enabled = false;  ///< otherwise create() refuses
  std::size_t max_faults = 32;
  Bounds bounds;
  /// Never matched, so that an injected fault cannot fail a health check; exact paths.
  std::vector<std::string> protected_paths{"/livez", "/readyz", "/healthz", "/metrics", "/api/health"};
};

/// The faults of this process, in memory only; what is armed and what ends is logged.
///
/// Each ends by itself after its TTL, by the monotonic clock, whether or not anybody asks. When several match one request, the
/// oldest delay and the oldest abort whose triggers select it apply, the delay first; the others count it as skipped.
/// Thread-safe. decide() is one relaxed load while nothing is armed, and takes no mutex otherwise. `registry` outlives the engine.
class Engine final {
 public:
  struct Clocks {
    std::function<MonotonicTime()> monotonic = [] { return std::chrono::steady_clock::now(); };
    WallClock wall = wall_now;
  };

  Engine(Settings settings, telemetry::Registry& registry);
  Engine(Settings settings, telemetry::Registry& registry, Clocks clocks);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Call once a request, with the request as it was received: a trace id that the client sent decides the trigger.
  [[nodiscard]] Decision decide(const http::Request& request) {
    return has_faults_.load(std::memory_order_relaxed) ? decide_among(request) : Decision{};
  }

  /// Arms a fault; the same specification again returns the armed one, not prolonged. With `validate_only` nothing is armed.
  /// Errors: kInvalidArgument (context: the field), kAlreadyExists, kFailedPrecondition (not enabled, draining), kResourceExhausted.
  [[nodiscard]] Result<State> create(Specification specification, bool validate_only = false);

  /// Errors: kNotFound, also when it has ended.
  [[nodiscard]] Result<State> get(std::string_view id);
  [[nodiscard]] std::vector<State> list();  ///< oldest first

  /// Disarms; returns the last state. Errors: kNotFound.
  [[nodiscard]] Result<State> remove(std::string_view id);

  /// Disarms all and returns them. After kDrain nothing can be armed again.
  std::vector<State> disarm_all(DisarmReason reason);

  /// Forgets and logs what has expired: call it about four times a second. What expired is not applied and not listed even without.
  void sweep();

 private:
  struct Table;
  struct Shared;
  [[nodiscard]] Decision decide_among(const http::Request& request);
  /// Both with the lock held.
  [[nodiscard]] std::vector<State> disarm(const std::function<bool(const Specification&)>& ends, DisarmReason reason);
  void drop_expired();

  std::atomic<bool> has_faults_{false};
  std::shared_ptr<Shared> shared_;  ///< also held by the metrics' callbacks
};

}  // namespace outrigger::fault
