#include "lib/telemetry/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <format>
#include <memory>

namespace outrigger::telemetry {
namespace {

struct LogState {
  LogSettings settings;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

// The process's telemetry is the one permitted global.
std::atomic<std::shared_ptr<LogState>>& current() {
  static std::atomic<std::shared_ptr<LogState>> state;
  return state;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "info";
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        // Control characters could forge lines or move a terminal's cursor; 0x7f too.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += std::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

}  // namespace

void start_log(const LogSettings& settings) {
  auto state = std::make_shared<LogState>();
  state->settings = settings;
  state->pool = std::make_shared<spdlog::details::thread_pool>(settings.queue_capacity, 1);
  state->logger = std::make_shared<spdlog::async_logger>("outrigger", std::make_shared<spdlog::sinks::stderr_sink_mt>(), state->pool,
                                                         spdlog::async_overflow_policy::overrun_oldest);
  state->logger->set_pattern("%v");
  state->logger->set_level(to_spdlog(settings.level));
  state->logger->flush_on(spdlog::level::info);
  current().store(std::move(state));
}

void stop_log() { current().store(nullptr); }

void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const auto state = current().load();
  if (!state || level < state->settings.level) {
    return;
  }
  const auto now = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  state->logger->log(to_spdlog(level), format_log_record(std::format("{:%FT%T}Z", now), level, state->settings.program, message, fields));
}

std::uint64_t dropped_log_records() {
  const auto state = current().load();
  return state ? state->pool->overrun_counter() : 0;
}

std::string format_log_record(std::string_view time, LogLevel level, std::string_view program, std::string_view message,
                              std::initializer_list<LogField> fields) {
  std::string out = "{\"time\":";
  append_json_string(out, time);
  out += ",\"level\":";
  append_json_string(out, level_name(level));
  out += ",\"program\":";
  append_json_string(out, program);
  out += ",\"message\":";
  append_json_string(out, message);
  for (const auto& field : fields) {
    out += ',';
    append_json_string(out, field.name);
    out += ':';
    append_json_string(out, field.value);
  }
  out += '}';
  return out;
}

LogLevel parse_log_level(std::string_view text, LogLevel fallback) {
  for (const auto level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (text == level_name(level)) {
      return level;
    }
  }
  return fallback;
}

}  // namespace outrigger::telemetry
