#include "cli/service_client.h"

#include <format>

#include <httplib.h>
#include <nlohmann/json.hpp>

#include "lib/load/http_target.h"

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;

ErrorCode code_of(int status) {
  switch (status) {
    case 400:
    case 422: return ErrorCode::kInvalidArgument;
    case 404: return ErrorCode::kNotFound;
    case 409: return ErrorCode::kFailedPrecondition;
    case 429:
    case 503: return ErrorCode::kResourceExhausted;
    default: return ErrorCode::kInternal;
  }
}

/// "title: detail" of RFC 9457 problem details, or the beginning of whatever the body is.
std::string problem_of(const httplib::Response& response) {
  constexpr std::size_t kMostBytes = 300;
  const auto json = Json::parse(response.body, nullptr, false);
  if (json.is_object() && json.contains("detail") && json["detail"].is_string()) {
    return json["detail"].get<std::string>();
  }
  if (json.is_object() && json.contains("title") && json["title"].is_string()) {
    return json["title"].get<std::string>();
  }
  return response.body.empty() ? "without an explanation" : response.body.substr(0, kMostBytes);
}

}  // namespace

struct ServiceClient::State {
  std::string origin;
  std::string prefix;
  httplib::Client client;

  Result<Json> answer(const httplib::Result& result) const {
    if (!result) {
      return fail(
          ErrorCode::kUnavailable,
          std::format("no answer ({}): is the service running there? Name another with --url or OUTRIGGER_URL", httplib::to_string(result.error())),
          origin);
    }
    if (result->status >= 300) {
      const auto injected = result->get_header_value("outrigger-fault");
      return fail(code_of(result->status),
                  std::format("answered {}{}: {}", result->status, injected.empty() ? "" : " (injected fault " + injected + ")", problem_of(*result)),
                  origin);
    }
    auto json = Json::parse(result->body, nullptr, false);
    if (!json.is_object()) {
      return fail(ErrorCode::kInternal, "answered with something else than a JSON object: is this an Outrigger service?", origin);
    }
    return json;
  }

  void set_patience(std::chrono::milliseconds patience) { client.set_read_timeout(patience); }
};

ServiceClient::ServiceClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
ServiceClient::~ServiceClient() = default;
ServiceClient::ServiceClient(ServiceClient&&) noexcept = default;
ServiceClient& ServiceClient::operator=(ServiceClient&&) noexcept = default;

Result<ServiceClient> ServiceClient::make(const std::string& url) {
  const auto parsed = load::parse_url(url);
  if (!parsed) {
    return fail(parsed.error().code, parsed.error().message, "--url");
  }
  std::string prefix = parsed->target;
  while (prefix.ends_with('/')) {
    prefix.pop_back();
  }
  auto state = std::make_unique<State>(State{parsed->origin, prefix, httplib::Client(parsed->origin)});
  state->client.set_keep_alive(true);
  state->client.set_connection_timeout(std::chrono::seconds{3});
  return ServiceClient(std::move(state));
}

Result<Json> ServiceClient::get(const std::string& path, std::chrono::milliseconds patience) {
  state_->set_patience(patience);
  return state_->answer(state_->client.Get(state_->prefix + path));
}

Result<Json> ServiceClient::post(const std::string& path, const std::string& json, const Headers& headers, std::chrono::milliseconds patience) {
  state_->set_patience(patience);
  return state_->answer(state_->client.Post(state_->prefix + path, httplib::Headers(headers.begin(), headers.end()), json, "application/json"));
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~").contains(c)) {
      out += c;
    } else {
      out += std::format("%{:02X}", byte);
    }
  }
  return out;
}

}  // namespace outrigger::cli
