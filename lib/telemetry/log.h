#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace outrigger::telemetry {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogSettings {
  std::string program;  ///< value of the field "program"
  LogLevel level = LogLevel::kInfo;
  std::size_t queue_capacity = 8192;  ///< records; when full the oldest is dropped and counted, nobody waits
};

/// One name and value of a record. Values are escaped: no input can forge a record or a field.
struct LogField {
  std::string_view name;
  std::string value;
};

/// Starts the asynchronous JSON log on standard error. Call once in main; before that, and in tests, records are dropped.
void start_log(const LogSettings& settings);

/// Writes what is queued and stops.
void stop_log();

/// One JSON object a line: time, level, program, message, then the fields, e.g. trace_id, request_id, saga_id.
/// Thread-safe, never blocks.
void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

/// Records dropped because the queue was full; for a metric.
[[nodiscard]] std::uint64_t dropped_log_records();

/// The JSON line of a record, without the newline. Pure; public for its tests.
[[nodiscard]] std::string format_log_record(std::string_view time, LogLevel level, std::string_view program, std::string_view message,
                                            std::initializer_list<LogField> fields);

/// Reads debug, info, warning or error; anything else is `fallback`.
[[nodiscard]] LogLevel parse_log_level(std::string_view text, LogLevel fallback);

}  // namespace outrigger::telemetry
