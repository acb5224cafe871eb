#include <csignal>

#include "lib/runtime/lifecycle.h"
#include "lib/telemetry/log.h"
#include "sidecar/program/settings.h"
#include "sidecar/program/sidecar.h"

namespace {

using namespace outrigger;
using telemetry::LogLevel;

// How late an expired fault is logged; it is not applied from the moment it expires.
constexpr std::chrono::milliseconds kTick{250};

int fail_to_start(const Error& error) {
  telemetry::log(LogLevel::kError, "cannot start", {{"code", std::string(name(error.code))}, {"error", error.to_string()}});
  switch (error.code) {
    case ErrorCode::kUnavailable: return exit_code::kCannotBind;
    case ErrorCode::kInvalidArgument: return exit_code::kBadConfiguration;
    default: return exit_code::kInternal;
  }
}

void serve_until_told_to_stop(sidecar::Sidecar& sidecar, StopSignal& signals) {
  for (;;) {
    const auto signal = signals.wait_for(kTick);
    if (signal == SIGUSR2) {
      sidecar.disarm_all_faults();
    } else if (signal) {
      return;
    }
    sidecar.tick();
  }
}

int run(const sidecar::SidecarSettings& settings, StopSignal& signals) {
  sidecar::Sidecar sidecar(settings);
  if (const auto started = sidecar.start(); !started) {
    return fail_to_start(started.error());
  }
  serve_until_told_to_stop(sidecar, signals);
  return sidecar.drain(signals) == 0 ? exit_code::kOk : exit_code::kDrainDeadline;
}

}  // namespace

int main(int argc, char** argv) {
  StopSignal signals{SIGUSR2};
  sidecar::SidecarSettings settings;
  if (const auto code = sidecar::read_settings(settings, argc, argv)) {
    return *code;
  }
  telemetry::start_log({.program = "outrigger-sidecar", .level = telemetry::parse_log_level(settings.log_level, LogLevel::kInfo)});
  const int code = run(settings, signals);
  telemetry::stop_log();
  return code;
}
