#include "service/http_participants/internal/exchange.h"

#include <algorithm>
#include <charconv>
#include <format>
#include <locale>
#include <sstream>

#include <nlohmann/json.hpp>

#include "lib/telemetry/trace_context.h"

namespace outrigger::http_participants {
namespace {

using Json = nlohmann::json;
using Kind = Verdict::Kind;
using std::chrono::milliseconds;

constexpr std::size_t kMaxReasonBytes = 1'024;
constexpr std::int64_t kLongestWaitSeconds = 86'400;

std::string trace_of(const participant::Command& command) {
  const auto parent = telemetry::parse_traceparent(command.traceparent);
  return (parent ? parent->child() : telemetry::new_trace()).traceparent();
}

std::string json_string(std::string_view text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

http::UpstreamRequest request(http::Method method, const participant::Command& command, const http::Url& url, MonotonicTime now,
                              MonotonicTime deadline) {
  // A duration, not a time: clocks differ.
  const auto left = std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(deadline - now));
  return {.method = method,
          .target = url.target,
          .headers = {{"Host", url.authority()},
                      {"Accept", "application/json, application/problem+json"},
                      {"Idempotency-Key", command.idempotency_key()},
                      {"Saga-Attempt", std::to_string(command.attempt)},
                      {"Saga-Deadline-Ms", std::to_string(left.count())},
                      {"traceparent", trace_of(command)},
                      {"User-Agent", "outrigger-service"}},
          .body = {},
          .deadline = deadline};
}

std::optional<std::string_view> header(const http::Response& response, std::string_view name) {
  const auto found = std::ranges::find_if(response.headers, [&](const auto& field) { return http::equal_ignoring_case(field.first, name); });
  return found == response.headers.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::string status_of(const http::Response& response) { return std::format("HTTP {} {}", response.status, http::reason_phrase(response.status)); }

Verdict unknown(std::string_view result, std::string reason) { return {.kind = Kind::kUnknown, .result = result, .reason = std::move(reason)}; }

Verdict without_answer(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kResourceExhausted: return unknown("unreachable", error.message);
    case ErrorCode::kDeadlineExceeded: return unknown("deadline", "no answer in time");
    case ErrorCode::kDataLoss: return unknown("malformed", error.message);
    default: return unknown("broken", error.message);
  }
}

bool is_problem_document(const http::Response& response) {
  const auto type = header(response, "Content-Type").value_or("");
  const auto media = type.substr(0, type.find_first_of("; \t"));
  return http::equal_ignoring_case(media, "application/problem+json");
}

/// RFC 9457: `detail` is for people; where it is missing, `title` must do.
Verdict refusal(const http::Response& response) {
  const auto document = is_problem_document(response) ? Json::parse(response.body, nullptr, false) : Json(Json::value_t::discarded);
  if (!document.is_object()) {
    return unknown("malformed",
                   std::format("{} without a problem document (application/problem+json): no refusal that can be relied on", status_of(response)));
  }
  std::string reason;
  for (const auto* member : {"detail", "title"}) {
    if (const auto found = document.find(member); found != document.end() && found->is_string() && reason.empty()) {
      reason = found->get<std::string>();
    }
  }
  if (reason.empty()) {
    reason = status_of(response);
  }
  reason.resize(std::min(reason.size(), kMaxReasonBytes));
  return {.kind = Kind::kFailed, .result = "refused", .reason = std::move(reason)};
}

Verdict accepted(const http::Url& url, const http::Response& response, WallTime now) {
  const auto where = header(response, "Location");
  auto location = where ? http::follow(url, *where) : outrigger::fail(ErrorCode::kInvalidArgument, "there is none");
  if (!location) {
    return unknown("malformed", std::format("{} whose Location cannot be asked: {}", status_of(response), location.error().message));
  }
  return {.kind = Kind::kInProgress,
          .result = "in_progress",
          .retry_after = parse_retry_after(header(response, "Retry-After").value_or(""), now),
          .location = *std::move(location)};
}

}  // namespace

http::UpstreamRequest make_request(const participant::Command& command, const http::Url& url, MonotonicTime now, MonotonicTime deadline) {
  auto made = request(http::Method::kPost, command, url, now, deadline);
  made.headers.emplace_back("Content-Type", "application/json");
  // The payload is an object of input and outputs: its members follow those that say what it is.
  const auto members = std::string_view(command.payload).substr(1);
  made.body = std::format(R"({{"saga_id":{},"step":{},"direction":"{}","command":{}{}{})", json_string(command.saga_id), json_string(command.step),
                          participant::name(command.direction), json_string(command.type), members == "}" ? "" : ",", members);
  return made;
}

http::UpstreamRequest make_poll(const participant::Command& command, const http::Url& url, MonotonicTime now, MonotonicTime deadline) {
  return request(http::Method::kGet, command, url, now, deadline);
}

Verdict judge(const http::Url& url, const Result<http::Response>& answer, WallTime now) {
  if (!answer) {
    return without_answer(answer.error());
  }
  const auto& response = *answer;
  switch (response.status) {
    case 202: return accepted(url, response, now);
    case 409:
    case 422: return refusal(response);
    case 429:
    case 503:
      if (const auto after = parse_retry_after(header(response, "Retry-After").value_or(""), now)) {
        return {.kind = Kind::kRetry, .result = "retry", .reason = status_of(response), .retry_after = after};
      }
      break;
    default: break;
  }
  if (response.status < 200 || response.status > 299) {
    return unknown("status", status_of(response));
  }
  if (!response.body.empty() && !Json::accept(response.body)) {
    return unknown("malformed", std::format("{} whose body is no JSON", status_of(response)));
  }
  return {.kind = Kind::kSuccess, .result = "success", .output = response.body};
}

std::optional<milliseconds> parse_retry_after(std::string_view value, WallTime now) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (!value.empty() && end == value.data() + value.size() && value.front() != '-') {
    return std::chrono::seconds(error == std::errc{} ? std::min(seconds, kLongestWaitSeconds) : kLongestWaitSeconds);
  }
  std::istringstream stream{std::string(value)};
  stream.imbue(std::locale::classic());
  std::chrono::sys_seconds date;
  if (!(stream >> std::chrono::parse("%a, %d %b %Y %T GMT", date)) || stream.peek() != std::istringstream::traits_type::eof()) {
    return std::nullopt;
  }
  return std::clamp<milliseconds>(date - now, milliseconds(0), std::chrono::seconds(kLongestWaitSeconds));
}

}  // namespace outrigger::http_participants
