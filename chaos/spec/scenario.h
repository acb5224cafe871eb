#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/load/http_target.h"
#include "lib/load/schedule.h"
#include "lib/runtime/error.h"

namespace outrigger::chaos {

using Texts = std::vector<std::pair<std::string, std::string>>;

/// In this order. Faults are armed at the start of inject and reverted at its end: observe and recover run without them.
enum class Phase : std::uint8_t { kBaseline, kInject, kObserve, kRecover };
inline constexpr Phase kAllPhases[] = {Phase::kBaseline, Phase::kInject, Phase::kObserve, Phase::kRecover};
[[nodiscard]] std::string_view name(Phase phase);

struct Phases {
  std::chrono::nanoseconds baseline{0};
  std::chrono::nanoseconds inject{0};
  std::chrono::nanoseconds observe{0};
  std::chrono::nanoseconds recover{0};

  [[nodiscard]] std::chrono::nanoseconds of(Phase phase) const;
  [[nodiscard]] std::chrono::nanoseconds total() const { return baseline + inject + observe + recover; }
};

struct Load {
  load::Rate rate;
  load::HttpRequest request;
  unsigned connections = 0;  ///< 0: as many as rate and the faults' delay need
};

struct HttpMatch {
  std::string method;       ///< empty: any
  std::string path_prefix;  ///< empty: any
  Texts headers;
};

struct Trigger {
  std::uint32_t percent_ppm = 1'000'000;
  std::uint64_t seed = 0;
};

struct Delay {
  std::chrono::nanoseconds fixed{0};
  std::chrono::nanoseconds jitter{0};
};

struct Abort {
  int status = 503;
};

/// What must be seen before an answer counts: without it the run is inconclusive.
struct Proof {
  std::uint64_t min_hits = 1;
  std::optional<std::chrono::nanoseconds> min_shift;  ///< P50 of inject minus P50 of baseline
  std::optional<std::chrono::nanoseconds> max_shift;
};

struct Fault {
  std::string id;
  std::string driver;  ///< "sidecar"
  std::string admin;   ///< unix:///run/outrigger/admin.sock
  HttpMatch match;
  Trigger trigger;
  std::variant<Delay, Abort> action;
  std::chrono::nanoseconds ttl{0};
  Proof proof;

  /// The longest that it holds one request up.
  [[nodiscard]] std::chrono::nanoseconds longest_delay() const;
};

struct Probe {
  std::string id;
  load::Url url;
  int status = 200;
  std::chrono::nanoseconds timeout{std::chrono::seconds{2}};
};

enum class Metric : std::uint8_t { kP50, kP99, kErrorRatio, kAvailability };
[[nodiscard]] std::string_view name(Metric metric);
[[nodiscard]] constexpr bool is_latency(Metric metric) { return metric == Metric::kP50 || metric == Metric::kP99; }

struct Assertion {
  std::string id;
  bool primary = false;
  Phase phase = Phase::kInject;
  Metric metric = Metric::kErrorRatio;
  bool is_upper = true;               ///< max, else min
  std::chrono::nanoseconds limit{0};  ///< of latencies
  double ratio = 0;                   ///< of ratios
  std::uint64_t min_samples = 0;      ///< as many as its limit needs, or more if the file asks for them

  [[nodiscard]] std::string text() const;  ///< "inject p99 <= 800ms"
};

/// Stops the run when `consecutive` intervals in a row were worse than `max_error_ratio`. Never evidence for a pass.
struct Guardrail {
  double max_error_ratio = 1;
  unsigned consecutive = 3;
  std::chrono::nanoseconds interval{std::chrono::seconds{1}};
};

struct Scenario {
  std::string file;
  std::string name;
  std::string description;
  Texts labels;
  Texts parameters;  ///< as used: defaults and overrides
  Phases phases;
  Load load;
  std::vector<Probe> probes;
  std::vector<Fault> faults;
  std::vector<Guardrail> guardrails;
  std::vector<Assertion> assertions;
};

inline constexpr std::string_view kApiVersion = "chaos.outrigger.dev/v1alpha1";
inline constexpr std::chrono::minutes kLongestTtl{10};
inline constexpr std::chrono::minutes kLongestScenario{30};
/// What the TTL must leave beyond inject, so that the fault does not end by itself before it is read and reverted.
inline constexpr std::chrono::seconds kTtlMargin{1};

/// Reads and checks a scenario; `overrides` replace parameters. Everything that can be known without a socket is checked here.
/// Errors: kInvalidArgument with a line "file:line:column: …" for each problem; kNotFound for the file.
[[nodiscard]] Result<Scenario> read_scenario(std::string_view text, const std::string& file, const Texts& overrides);
[[nodiscard]] Result<Scenario> read_scenario_file(const std::string& path, const Texts& overrides);

}  // namespace outrigger::chaos
