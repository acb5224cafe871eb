#include "lib/runtime/crash_point.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <format>
#include <string>

#include <unistd.h>

namespace outrigger {
namespace {

std::atomic<std::uint64_t> passes_left;

std::string all_names() {
  std::string names;
  for (const auto name : kCrashPointNames) {
    names += std::format("{}{}", names.empty() ? "" : " ", name);
  }
  return names;
}

}  // namespace

namespace internal {

std::atomic<int> armed_crash_point = -1;

void pass_armed_crash_point(CrashPoint point) {
  // Threads that pass later go on until the signal ends them, as they would at any crash.
  if (passes_left.fetch_sub(1) != 1) {
    return;
  }
  const auto text = std::format("crash point {}\n", kCrashPointNames.at(static_cast<std::size_t>(point)));
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  ::kill(::getpid(), SIGKILL);
}

}  // namespace internal

Result<void> arm_crash_point(const char* wanted, const char* allowed) {
  const std::string_view text = wanted == nullptr ? "" : wanted;
  if (text.empty()) {
    return {};
  }
  if (allowed == nullptr || std::string_view(allowed) != "1") {
    return fail(ErrorCode::kFailedPrecondition,
                "OUTRIGGER_CRASH_POINT is set, which would kill this process: unset it, or set OUTRIGGER_ALLOW_CRASH_POINTS=1 in a test");
  }
  const auto colon = text.find(':');
  const auto point = std::ranges::find(kCrashPointNames, text.substr(0, colon));
  const auto digits = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  std::uint64_t count = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (point == kCrashPointNames.end() || problem != std::errc{} || end != digits.data() + digits.size() || count == 0) {
    return fail(ErrorCode::kInvalidArgument,
                std::format("OUTRIGGER_CRASH_POINT={}: write NAME:COUNT, COUNT from 1, NAME one of: {}", text, all_names()));
  }
  passes_left = count;
  internal::armed_crash_point = static_cast<int>(point - kCrashPointNames.begin());
  return {};
}

}  // namespace outrigger
