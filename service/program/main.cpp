#include <cstdlib>

#include "lib/runtime/crash_point.h"
#include "lib/runtime/lifecycle.h"
#include "lib/telemetry/log.h"
#include "service/program/service.h"

namespace {

using namespace outrigger;
using telemetry::LogLevel;

int exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded: return exit_code::kCannotBind;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kFailedPrecondition:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kUnimplemented: return exit_code::kBadConfiguration;
    default: return exit_code::kInternal;
  }
}

int fail_to_start(const Error& error) {
  telemetry::log(LogLevel::kError, "cannot start", {{"code", std::string(name(error.code))}, {"error", error.to_string()}});
  return exit_code_of(error);
}

int run(const service::ServiceSettings& settings, StopSignal& stop) {
  const auto service = service::Service::open(settings);
  if (!service) {
    return fail_to_start(service.error());
  }
  if (const auto started = (*service)->start(); !started) {
    return fail_to_start(started.error());
  }
  bool is_told_to_stop = false;
  while (!is_told_to_stop && !(*service)->ready()) {
    is_told_to_stop = stop.wait_for(std::chrono::milliseconds{10}).has_value();
  }
  if (!is_told_to_stop) {
    if (const auto announced = (*service)->announce(); !announced) {
      return fail_to_start(announced.error());
    }
    stop.wait();
  }
  const auto cut_off = (*service)->drain(stop);
  return (*service)->demanded_exit().value_or(cut_off == 0 ? exit_code::kOk : exit_code::kDrainDeadline);
}

}  // namespace

int main(int argc, char** argv) {
  StopSignal stop;
  service::ServiceSettings settings;
  if (const auto code = service::read_settings(settings, argc, argv)) {
    return *code;
  }
  // NOLINTBEGIN(concurrency-mt-unsafe): read once, before any thread
  const auto armed = arm_crash_point(std::getenv("OUTRIGGER_CRASH_POINT"), std::getenv("OUTRIGGER_ALLOW_CRASH_POINTS"));
  // NOLINTEND(concurrency-mt-unsafe)
  telemetry::start_log({.program = "outrigger-service", .level = telemetry::parse_log_level(settings.log_level, LogLevel::kInfo)});
  const int code = armed ? run(settings, stop) : fail_to_start(armed.error());
  telemetry::stop_log();
  return code;
}
