#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/runtime/error.h"

namespace outrigger::sidecar::admin::v1 {
class Fault;
}

namespace outrigger::cli {

/// The faults of a YAML text, one a document:
///
///     id: slow-orders
///     reason: drill 7
///     ttl: 2m
///     match: {http: {method: POST, pathPrefix: /v1/orders, headers: {x-canary: "1"}}}
///     trigger: {percent: 25, seed: 42}
///     action: {delay: {fixed: 300ms, jitter: 50ms}}      # or {abort: {status: 503}}
///
/// Or the listing that `outrigger fault list --output yaml` prints: `faults: [...]`, where what the sidecar adds (hits, skipped,
/// createTime, expireTime) is ignored.
/// Errors: kInvalidArgument, a line "file:line:column: …" a problem. Bounds are the sidecar's business.
[[nodiscard]] Result<std::vector<sidecar::admin::v1::Fault>> read_faults(std::string_view yaml, std::string_view file);

/// "25", "0.5" or "12.5%" as parts per million. Errors: kInvalidArgument; at most four decimals, at most 100.
[[nodiscard]] Result<std::uint32_t> parse_percent(std::string_view text);

/// A fault as one of the documents above.
[[nodiscard]] nlohmann::ordered_json to_json(const sidecar::admin::v1::Fault& fault);

}  // namespace outrigger::cli
