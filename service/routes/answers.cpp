#include "service/routes/internal/answers.h"

#include <array>
#include <format>
#include <nlohmann/json.hpp>

#include "lib/telemetry/log.h"

namespace outrigger::routes::internal {
namespace {

using Json = nlohmann::ordered_json;

struct Problem {
  ErrorCode code;
  int status;
  std::string_view title;
};

constexpr std::array kProblems{
    Problem{ErrorCode::kInvalidArgument, 400, "Bad request"},
    Problem{ErrorCode::kNotFound, 404, "Not found"},
    Problem{ErrorCode::kAlreadyExists, 422, "Idempotency-Key used with another payload"},
    Problem{ErrorCode::kFailedPrecondition, 409, "Not possible in this state"},
    Problem{ErrorCode::kAborted, 503, "Try again"},
    Problem{ErrorCode::kUnavailable, 503, "Try again"},
    Problem{ErrorCode::kResourceExhausted, 503, "Overloaded"},
    Problem{ErrorCode::kDeadlineExceeded, 504, "Took too long"},
    Problem{ErrorCode::kPermissionDenied, 403, "Not allowed"},
    Problem{ErrorCode::kUnimplemented, 501, "Not implemented"},
};

// Untrusted bytes may be no UTF-8.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string saga_json(const saga::SagaState& saga, bool is_order) {
  auto text = saga::to_json(saga);
  return is_order ? std::format("{{\"order_id\":{},{}", dump(saga.business_key), std::string_view(text).substr(1)) : text;
}

}  // namespace

http::Response problem(int status, std::string_view title, std::string_view detail, std::span<const orders::FieldProblem> errors) {
  Json json{{"type", "about:blank"}, {"title", title}, {"status", status}, {"detail", detail}};
  if (!errors.empty()) {
    auto list = Json::array();
    for (const auto& error : errors) {
      list.push_back({{"pointer", error.pointer}, {"detail", error.detail}});
    }
    json["errors"] = std::move(list);
  }
  http::Response response{
      .status = status, .headers = {{"Content-Type", "application/problem+json"}}, .body = dump(json), .content_length = std::nullopt};
  if (status == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return response;
}

http::Response error_answer(const Error& error) {
  const auto found = std::ranges::find(kProblems, error.code, &Problem::code);
  if (found == kProblems.end()) {
    // The message may tell of files and bytes; it is in the log.
    telemetry::log(telemetry::LogLevel::kError, "a request failed", {{"code", std::string(name(error.code))}, {"error", error.to_string()}});
    return problem(500, "Internal error", "the service's log says more under this answer's X-Request-Id");
  }
  return problem(found->status, found->title, error.message);
}

http::Response started_answer(const saga::SagaState& saga, bool is_order) {
  auto response = http::Response::json(saga.is_finished() ? 200 : 202, saga_json(saga, is_order));
  response.headers.emplace_back("Location", std::format("/v1/{}/{}", is_order ? "orders" : "sagas", saga.id));
  return response;
}

http::Response saga_answer(const saga::SagaState& saga, bool is_order) { return http::Response::json(200, saga_json(saga, is_order)); }

http::Response list_answer(const journal::ListPage& page) {
  std::string body = R"({"sagas":[)";
  for (const auto& saga : page.sagas) {
    body += body.back() == '[' ? "" : ",";
    body += saga::to_json(*saga);
  }
  body += std::format("],\"next_cursor\":{}}}", page.next_cursor.empty() ? "null" : dump(page.next_cursor));
  return http::Response::json(200, std::move(body));
}

void send(http::Responder& responder, const RequestContext& context, http::Response response) {
  response.headers.emplace_back("X-Request-Id", context.request_id);
  response.headers.emplace_back("traceparent", context.trace.traceparent());
  if (response.status >= 500) {
    telemetry::log(telemetry::LogLevel::kWarning, "answered with an error",
                   {{"status", std::to_string(response.status)},
                    {"request_id", context.request_id},
                    {"trace_id", context.trace.trace_id},
                    {"body", response.body}});
  }
  responder.send(std::move(response));
}

}  // namespace outrigger::routes::internal
