#pragma once

#include <string>
#include <string_view>

namespace outrigger::chaos {

/// A small valid scenario; tests replace one part of it.
inline constexpr std::string_view kScenario = R"(apiVersion: chaos.outrigger.dev/v1alpha1
kind: Scenario
metadata: {name: slow}
spec:
  parameters: {url: http://127.0.0.1:1, admin: unix:///tmp/a.sock, rate: 100/s, hits: 5}
  phases: {baseline: 4s, inject: 4s, recover: 4s}
  load: {rate: "${rate}", method: POST, url: "${url}/v1/orders", headers: {X-Run: "{{run}}"}, connections: 32, timeout: 2s}
  probes:
    - {id: health, http: {url: "${url}/api/health", status: 200}}
  faults:
    - id: slow
      driver: sidecar
      target: {admin: "${admin}"}
      match: {http: {method: POST, path_prefix: /v1/orders}}
      trigger: {percent_ppm: 500000, seed: 7}
      action: {delay: {fixed: 100ms, jitter: 20ms}}
      ttl: 30s
      proof: {min_hits: "${hits}", p50_shift: {min: 80ms, max: 200ms}}
  guardrails:
    - {metric: error_ratio, max: 0.5, consecutive: 2}
  assertions:
    - {id: succeed, primary: true, phase: inject, metric: error_ratio, max: 0}
    - {id: quick, phase: inject, metric: p99, max: 2s}
)";

/// `text` with the first `from` replaced; empty when there is none, so that a test cannot pass by accident.
inline std::string with(std::string_view text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  return at == std::string_view::npos ? std::string{}
                                      : std::string(text.substr(0, at)) + std::string(to) + std::string(text.substr(at + from.size()));
}

}  // namespace outrigger::chaos
