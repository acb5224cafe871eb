#include "sidecar/fault/engine.h"

#include <algorithm>
#include <array>
#include <format>
#include <mutex>
#include <tuple>
#include <utility>

#include "lib/runtime/duration.h"
#include "lib/telemetry/log.h"
#include "lib/telemetry/trace_context.h"
#include "sidecar/fault/metrics.h"

namespace outrigger::fault {
namespace {

/// An armed fault. What is not atomic never changes.
struct Armed {
  Specification specification;
  MonotonicTime expires_at;
  WallTime created;
  WallTime expires;
  telemetry::Counter* injected;
  telemetry::Counter* not_selected;
  telemetry::Counter* shadowed;
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> skipped{0};
  std::atomic<std::uint64_t> next_ordinal{0};

  [[nodiscard]] State state() const {
    return {specification, hits.load(std::memory_order_relaxed), skipped.load(std::memory_order_relaxed), created, expires};
  }

  void skip(telemetry::Counter* reason) {
    skipped.fetch_add(1, std::memory_order_relaxed);
    reason->add();
  }
};

constexpr std::array kDisarmReasons{DisarmReason::kExpired, DisarmReason::kDeleted, DisarmReason::kKillSwitch, DisarmReason::kDrain};

/// The trace that the client belongs to; empty when it named none.
std::string trace_id_of(const http::Request& request) {
  const auto header = request.header("traceparent");
  const auto context = header ? telemetry::parse_traceparent(*header) : std::nullopt;
  return context ? context->trace_id : std::string{};
}

double unix_seconds(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

std::unexpected<Error> not_found(std::string_view id) {
  return fail(ErrorCode::kNotFound,
              std::format("no armed fault has the id \"{:.80}\": it was never armed here, was deleted, or its ttl has passed", id));
}

}  // namespace

http::Response abort_response(const Decision& decision) {
  const int status = decision.abort_status.value_or(503);
  auto response = http::Response::problem(status, http::reason_phrase(status), std::format("injected by the fault {}", decision.faults));
  response.headers.emplace_back("outrigger-fault", decision.faults);
  return response;
}

std::string_view name(DisarmReason reason) {
  switch (reason) {
    case DisarmReason::kExpired: return "ttl";
    case DisarmReason::kDeleted: return "deleted";
    case DisarmReason::kKillSwitch: return "kill_switch";
    case DisarmReason::kDrain: return "drain";
  }
  return "unknown";
}

/// An immutable snapshot, oldest fault first: the data path reads one while the admin side publishes the next.
struct Engine::Table {
  std::vector<std::shared_ptr<Armed>> faults;

  [[nodiscard]] std::shared_ptr<Armed> find(std::string_view id, MonotonicTime now) const {
    const auto found = std::ranges::find_if(faults, [&](const auto& fault) { return fault->specification.id == id && now < fault->expires_at; });
    return found == faults.end() ? nullptr : *found;
  }
};

struct Engine::Shared {
  Shared(Settings s, telemetry::Registry& r, Clocks c) : settings(std::move(s)), registry(r), clocks(std::move(c)) {
    for (const auto reason : kDisarmReasons) {
      disarmed[static_cast<std::size_t>(reason)] = &registry.counter(metrics::kDisarmed, {{"reason", std::string(name(reason))}});
    }
    limit_reached = &registry.counter(metrics::kLimitReached, {{"limit", "faults"}});
  }

  [[nodiscard]] bool is_protected(std::string_view path) const {
    return std::ranges::find(settings.protected_paths, path) != settings.protected_paths.end();
  }

  [[nodiscard]] std::vector<std::shared_ptr<Armed>> alive() const {
    auto faults = table.load()->faults;
    const auto now = clocks.monotonic();
    std::erase_if(faults, [&](const auto& fault) { return now >= fault->expires_at; });
    return faults;
  }

  /// What a create() with this specification comes to, before it arms: the armed twin, or nothing when it may arm.
  [[nodiscard]] Result<std::shared_ptr<Armed>> admit(const Specification& wanted, MonotonicTime now) {
    if (!settings.is_enabled) {
      return fail(ErrorCode::kFailedPrecondition, "fault injection is off in this sidecar: start it with --faults-enabled where faults are wanted");
    }
    if (is_draining) {
      return fail(ErrorCode::kFailedPrecondition, "this sidecar is draining and takes no more faults");
    }
    const auto current = table.load();
    if (auto twin = current->find(wanted.id, now)) {
      if (twin->specification == wanted) {
        return twin;
      }
      return fail(ErrorCode::kAlreadyExists,
                  std::format("the fault \"{}\" is armed with another specification: delete it first, or choose another id", wanted.id), "fault.id");
    }
    const auto armed = std::ranges::count_if(current->faults, [&](const auto& fault) { return now < fault->expires_at; });
    if (static_cast<std::size_t>(armed) >= settings.max_faults) {
      limit_reached->add();
      return fail(ErrorCode::kResourceExhausted, std::format("{} faults are armed, the most that is allowed: delete one first", armed));
    }
    return nullptr;
  }

  const Settings settings;
  telemetry::Registry& registry;
  const Clocks clocks;
  std::array<telemetry::Counter*, kDisarmReasons.size()> disarmed{};
  telemetry::Counter* limit_reached = nullptr;
  std::mutex mutex;  ///< of whoever changes the table; never held while the registry is called
  bool is_draining = false;
  std::atomic<std::shared_ptr<const Table>> table{std::make_shared<const Table>()};
};

Engine::Engine(Settings settings, telemetry::Registry& registry) : Engine(std::move(settings), registry, Clocks{}) {}

Engine::Engine(Settings settings, telemetry::Registry& registry, Clocks clocks)
    : shared_(std::make_shared<Shared>(std::move(settings), registry, std::move(clocks))) {
  registry.gauge_function(metrics::kActive, [shared = shared_] { return static_cast<double>(shared->alive().size()); });
  registry.gauge_family_function(metrics::kExpiry, [shared = shared_] {
    std::vector<std::pair<telemetry::Labels, double>> series;
    for (const auto& fault : shared->alive()) {
      series.emplace_back(telemetry::Labels{{"fault", fault->specification.id}}, unix_seconds(fault->expires));
    }
    return series;
  });
}

Engine::~Engine() = default;

std::vector<State> Engine::disarm(const std::function<bool(const Specification&)>& ends, DisarmReason reason) {
  const auto current = shared_->table.load();
  auto next = std::make_shared<Table>();
  std::vector<State> ended;
  for (const auto& fault : current->faults) {
    if (!ends(fault->specification)) {
      next->faults.push_back(fault);
      continue;
    }
    ended.push_back(fault->state());
    shared_->disarmed[static_cast<std::size_t>(reason)]->add();
    telemetry::log(telemetry::LogLevel::kWarning, "fault ended",
                   {{"fault", fault->specification.id}, {"cause", std::string(name(reason))}, {"hits", std::to_string(ended.back().hits)}});
  }
  if (!ended.empty()) {
    has_faults_.store(!next->faults.empty(), std::memory_order_relaxed);
    shared_->table.store(std::move(next));
  }
  return ended;
}

void Engine::drop_expired() {
  const auto now = shared_->clocks.monotonic();
  const auto current = shared_->table.load();
  std::ignore = disarm([&](const Specification& fault) { return current->find(fault.id, now) == nullptr; }, DisarmReason::kExpired);
}

Decision Engine::decide_among(const http::Request& request) {
  Decision decision;
  if (shared_->is_protected(request.path)) {
    return decision;
  }
  const auto table = shared_->table.load();
  const auto now = shared_->clocks.monotonic();
  std::optional<std::string> trace_id;
  for (const auto& fault : table->faults) {
    const Specification& wanted = fault->specification;
    if (now >= fault->expires_at || !matches(wanted.match, request)) {
      continue;
    }
    if (!trace_id) {
      trace_id = trace_id_of(request);
    }
    const std::string key = trace_id->empty() ? std::to_string(fault->next_ordinal.fetch_add(1, std::memory_order_relaxed)) : *trace_id;
    if (!selects(wanted.trigger, wanted.id, key)) {
      fault->skip(fault->not_selected);
      continue;
    }
    const auto* delay = std::get_if<Delay>(&wanted.action);
    if (delay != nullptr ? decision.delay.has_value() : decision.abort_status.has_value()) {
      fault->skip(fault->shadowed);
      continue;
    }
    if (delay != nullptr) {
      decision.delay = draw(*delay, wanted.trigger, wanted.id, key);
    } else {
      decision.abort_status = std::get<Abort>(wanted.action).status;
    }
    fault->hits.fetch_add(1, std::memory_order_relaxed);
    fault->injected->add();
    decision.faults += decision.faults.empty() ? "" : ",";
    decision.faults += wanted.id;
  }
  return decision;
}

Result<State> Engine::create(Specification specification, bool validate_only) {
  if (const auto valid = validate(specification, shared_->settings.bounds); !valid) {
    return std::unexpected(valid.error());
  }
  if (const auto& path = specification.match.path_prefix; shared_->is_protected(path)) {
    return fail(ErrorCode::kInvalidArgument, std::format("{} is a health endpoint, which faults never match: choose another path", path),
                "fault.match.http.path_prefix");
  }
  const auto action = std::string(name(specification.action));
  auto fault = std::make_shared<Armed>();
  {
    const std::lock_guard lock(shared_->mutex);
    drop_expired();
    const auto twin = shared_->admit(specification, shared_->clocks.monotonic());
    if (!twin) {
      return std::unexpected(twin.error());
    }
    if (*twin) {
      return (*twin)->state();
    }
  }
  if (!validate_only) {  // outside of the lock: a scrape holds the registry while it asks for the table
    const std::string& id = specification.id;
    fault->injected = &shared_->registry.counter(metrics::kInjected, {{"fault", id}, {"action", action}});
    fault->not_selected = &shared_->registry.counter(metrics::kSkipped, {{"fault", id}, {"reason", "trigger"}});
    fault->shadowed = &shared_->registry.counter(metrics::kSkipped, {{"fault", id}, {"reason", "shadowed"}});
  }
  const std::lock_guard lock(shared_->mutex);
  const auto now = shared_->clocks.monotonic();
  const auto twin = shared_->admit(specification, now);
  if (!twin) {
    return std::unexpected(twin.error());
  }
  if (*twin) {
    return (*twin)->state();
  }
  fault->specification = std::move(specification);
  fault->expires_at = now + fault->specification.ttl;
  fault->created = shared_->clocks.wall();
  fault->expires = fault->created + std::chrono::ceil<std::chrono::milliseconds>(fault->specification.ttl);
  if (!validate_only) {
    auto next = std::make_shared<Table>(*shared_->table.load());
    next->faults.push_back(fault);
    shared_->table.store(std::move(next));
    has_faults_.store(true, std::memory_order_relaxed);
    telemetry::log(telemetry::LogLevel::kWarning, "fault armed",
                   {{"fault", fault->specification.id}, {"action", action}, {"ttl", format_duration(fault->specification.ttl)}});
  }
  return fault->state();
}

Result<State> Engine::get(std::string_view id) {
  if (const auto fault = shared_->table.load()->find(id, shared_->clocks.monotonic())) {
    return fault->state();
  }
  return not_found(id);
}

std::vector<State> Engine::list() {
  std::vector<State> states;
  for (const auto& fault : shared_->alive()) {
    states.push_back(fault->state());
  }
  return states;
}

Result<State> Engine::remove(std::string_view id) {
  const std::lock_guard lock(shared_->mutex);
  drop_expired();
  auto removed = disarm([&](const Specification& fault) { return fault.id == id; }, DisarmReason::kDeleted);
  if (removed.empty()) {
    return not_found(id);
  }
  return std::move(removed.front());
}

std::vector<State> Engine::disarm_all(DisarmReason reason) {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_draining = shared_->is_draining || reason == DisarmReason::kDrain;
  drop_expired();
  return disarm([](const Specification&) { return true; }, reason);
}

void Engine::sweep() {
  const std::lock_guard lock(shared_->mutex);
  drop_expired();
}

}  // namespace outrigger::fault
