#include "lib/runtime/lifecycle.h"
#include "lib/telemetry/log.h"
#include "service/participants_program/program.h"

namespace {

using namespace outrigger;
using telemetry::LogLevel;

int fail_to_start(const Error& error) {
  telemetry::log(LogLevel::kError, "cannot start", {{"code", std::string(name(error.code))}, {"error", error.to_string()}});
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded: return exit_code::kCannotBind;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kFailedPrecondition:
    case ErrorCode::kPermissionDenied: return exit_code::kBadConfiguration;
    default: return exit_code::kInternal;
  }
}

int run(const participants::ParticipantsSettings& settings, StopSignal& stop) {
  const auto program = participants::Program::start(settings);
  if (!program) {
    return fail_to_start(program.error());
  }
  bool is_told_to_stop = false;
  while (!is_told_to_stop && !(*program)->ready()) {
    is_told_to_stop = stop.wait_for(std::chrono::milliseconds{10}).has_value();
  }
  if (!is_told_to_stop) {
    if (const auto announced = (*program)->announce(); !announced) {
      return fail_to_start(announced.error());
    }
    stop.wait();
  }
  return (*program)->demanded_exit().value_or(exit_code::kOk);
}

}  // namespace

int main(int argc, char** argv) {
  StopSignal stop;
  participants::ParticipantsSettings settings;
  if (const auto code = participants::read_settings(settings, argc, argv)) {
    return *code;
  }
  telemetry::start_log({.program = "outrigger-participants", .level = telemetry::parse_log_level(settings.log_level, LogLevel::kInfo)});
  const int code = run(settings, stop);
  telemetry::stop_log();
  return code;
}
