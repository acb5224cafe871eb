#include <algorithm>
#include <array>
#include <format>
#include <map>

#include "outrigger/sidecar/admin/v1/fault.pb.h"
#include "sidecar/admin/internal/fault_messages.h"

namespace outrigger::admin::internal {
namespace {

namespace api = sidecar::admin::v1;

constexpr std::array kMethods{http::Method::kGet,   http::Method::kHead,   http::Method::kPost,   http::Method::kPut,
                              http::Method::kPatch, http::Method::kDelete, http::Method::kOptions};

std::unexpected<Error> wrong(std::string field, std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(field));
}

/// What does not fit 64 bits of nanoseconds (292 years) is the longest that does: every bound refuses it.
Result<std::chrono::nanoseconds> read_duration(const google::protobuf::Duration& duration, const char* field) {
  constexpr std::int64_t kMostSeconds = 9'000'000'000;
  if (duration.nanos() < -999'999'999 || duration.nanos() > 999'999'999 || (duration.seconds() > 0 && duration.nanos() < 0) ||
      (duration.seconds() < 0 && duration.nanos() > 0)) {
    return wrong(field, "is no google.protobuf.Duration: nanos must be less than a second and have the sign of seconds");
  }
  const auto seconds = std::clamp(duration.seconds(), -kMostSeconds, kMostSeconds);
  return std::chrono::seconds{seconds} + std::chrono::nanoseconds{duration.nanos()};
}

void write_duration(std::chrono::nanoseconds from, google::protobuf::Duration& to) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(from);
  to.set_seconds(seconds.count());
  to.set_nanos(static_cast<std::int32_t>((from - seconds).count()));
}

void write_time(WallTime from, google::protobuf::Timestamp& to) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(from);
  to.set_seconds(seconds.time_since_epoch().count());
  to.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds{from - seconds}.count()));
}

Result<fault::HttpMatch> read_match(const api::HttpMatch& message) {
  fault::HttpMatch match;
  if (!message.method().empty()) {
    const auto found = std::ranges::find(kMethods, message.method(), [](http::Method method) { return http::name(method); });
    if (found == kMethods.end()) {
      return wrong("fault.match.http.method",
                   std::format("\"{:.40}\" is no method: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS", message.method()));
    }
    match.method = *found;
  }
  match.path_prefix = message.path_prefix();
  std::map<std::string, std::string> headers;  // sorted, so that two equal specifications compare equal
  for (const auto& [header, value] : message.headers()) {
    std::string lower = header;
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (!headers.emplace(lower, value).second) {
      return wrong("fault.match.http.headers", std::format("\"{:.80}\" is given twice", lower));
    }
  }
  match.headers.assign(headers.begin(), headers.end());
  return match;
}

Result<fault::Action> read_action(const api::Fault& message) {
  switch (message.action_case()) {
    case api::Fault::kDelay: {
      const auto fixed = read_duration(message.delay().fixed(), "fault.delay.fixed");
      const auto jitter = read_duration(message.delay().jitter(), "fault.delay.jitter");
      if (!fixed || !jitter) {
        return std::unexpected(!fixed ? fixed.error() : jitter.error());
      }
      return fault::Delay{.fixed = *fixed, .jitter = *jitter};
    }
    case api::Fault::kAbort: return fault::Abort{.status = static_cast<int>(std::min(message.abort().status(), 1000U))};
    case api::Fault::ACTION_NOT_SET: break;
  }
  return wrong("fault.action", "is required: set delay or abort");
}

}  // namespace

Result<fault::Specification> read_fault(const api::Fault& message) {
  if (!message.match().has_http()) {
    return wrong("fault.match", "is required: set match.http, empty for every HTTP request");
  }
  const auto ttl = read_duration(message.ttl(), "fault.ttl");
  if (!ttl) {
    return std::unexpected(ttl.error());
  }
  auto match = read_match(message.match().http());
  if (!match) {
    return std::unexpected(match.error());
  }
  const auto action = read_action(message);
  if (!action) {
    return std::unexpected(action.error());
  }
  return fault::Specification{
      .id = message.id(),
      .reason = message.reason(),
      .ttl = *ttl,
      .match = std::move(*match),
      .trigger = {.percent_ppm = message.trigger().has_percent_ppm() ? message.trigger().percent_ppm() : fault::Trigger::kAlways,
                  .seed = message.trigger().seed()},
      .action = *action,
  };
}

void write_fault(const fault::State& state, api::Fault& message) {
  const fault::Specification& specification = state.specification;
  message.set_id(specification.id);
  message.set_reason(specification.reason);
  write_duration(specification.ttl, *message.mutable_ttl());
  auto& match = *message.mutable_match()->mutable_http();
  if (specification.match.method) {
    match.set_method(std::string(http::name(*specification.match.method)));
  }
  match.set_path_prefix(specification.match.path_prefix);
  for (const auto& [header, value] : specification.match.headers) {
    (*match.mutable_headers())[header] = value;
  }
  message.mutable_trigger()->set_percent_ppm(specification.trigger.percent_ppm);
  message.mutable_trigger()->set_seed(specification.trigger.seed);
  if (const auto* delay = std::get_if<fault::Delay>(&specification.action)) {
    write_duration(delay->fixed, *message.mutable_delay()->mutable_fixed());
    if (delay->jitter.count() > 0) {
      write_duration(delay->jitter, *message.mutable_delay()->mutable_jitter());
    }
  } else {
    message.mutable_abort()->set_status(static_cast<std::uint32_t>(std::get<fault::Abort>(specification.action).status));
  }
  message.set_hits(state.hits);
  message.set_skipped(state.skipped);
  write_time(state.created, *message.mutable_create_time());
  write_time(state.expires, *message.mutable_expire_time());
}

}  // namespace outrigger::admin::internal
