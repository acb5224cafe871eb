#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outrigger::telemetry {

/// W3C Trace Context, version 00 (www.w3.org/TR/trace-context): who called, carried on every hop as `traceparent`.
struct TraceContext {
  std::string trace_id;  ///< 32 lower-case hex digits, not all zero
  std::string span_id;   ///< 16 lower-case hex digits, not all zero
  bool sampled = true;

  /// "00-<trace>-<span>-01".
  [[nodiscard]] std::string traceparent() const;

  /// Same trace, new span: what a caller sends onward.
  [[nodiscard]] TraceContext child() const;
};

/// Nothing when the header is malformed: the receiver then starts a new trace, as the recommendation says.
[[nodiscard]] std::optional<TraceContext> parse_traceparent(std::string_view header);

/// A new trace from the operating system's randomness.
[[nodiscard]] TraceContext new_trace();

}  // namespace outrigger::telemetry
