#include <algorithm>
#include <chrono>
#include <format>
#include <fstream>
#include <iterator>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/manual.h"
#include "cli/saga_group.h"
#include "cli/saga_view.h"
#include "cli/service_client.h"
#include "lib/runtime/duration.h"
#include "lib/runtime/ids.h"

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct StartOptions {
  std::string url = kDefaultServiceUrl;
  std::string file = "-";
  std::string definition;
  std::string business_key;
  std::string idempotency_key;
  std::string wait;
  std::string expect;
};

Result<std::string> read_all(const std::string& file, std::istream& standard_input) {
  if (file == "-") {
    return std::string(std::istreambuf_iterator<char>(standard_input), {});
  }
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) {
    return fail(ErrorCode::kInvalidArgument, "cannot be read: check the path, or use - for standard input", file);
  }
  return text;
}

/// The text, when it is a JSON object; else where it breaks.
Result<std::string> as_json_object(std::string text, const std::string& file) {
  const std::string where = file == "-" ? "standard input" : file;
  try {
    if (!Json::parse(text).is_object()) {
      return fail(ErrorCode::kInvalidArgument, "expected a JSON object, e.g. {\"order_id\": …}", where);
    }
    return text;
  } catch (const Json::parse_error& error) {
    const auto upto = std::string_view(text).substr(0, error.byte == 0 ? 0 : error.byte - 1);
    const auto line = std::ranges::count(upto, '\n') + 1;
    const auto column = upto.size() - (upto.rfind('\n') == std::string_view::npos ? 0 : upto.rfind('\n') + 1) + 1;
    return fail(ErrorCode::kInvalidArgument, text.empty() ? "is empty: give the JSON object that starts the saga" : "is not JSON here",
                std::format("{}:{}:{}", where, line, column));
  }
}

int start(const StartOptions& options, CommandContext& context) {
  auto client = ServiceClient::make(options.url);
  auto text = read_all(options.file, context.in);
  if (!client || !text) {
    return context.output.failure(client ? text.error() : client.error());
  }
  const auto body = as_json_object(std::move(*text), options.file);
  const auto wait = parse_duration(options.wait.empty() ? "0" : options.wait);
  if (!body || !wait) {
    return context.output.failure(!body ? body.error() : Error{wait.error().code, wait.error().message, "--wait"});
  }
  const std::string key = options.idempotency_key.empty() ? make_ulid() : options.idempotency_key;
  std::string path = options.definition.empty() ? "/v1/orders?" : std::format("/v1/sagas/{}?", percent_encode(options.definition));
  path += options.business_key.empty() ? "" : std::format("business_key={}&", percent_encode(options.business_key));
  path += options.wait.empty() ? "" : std::format("wait={}&", percent_encode(options.wait));
  path.pop_back();  // the last & or ?
  auto saga = client->post(path, *body, {{"Idempotency-Key", key}}, std::chrono::ceil<milliseconds>(*wait) + seconds{5});
  if (!saga) {
    if (saga.error().code == ErrorCode::kUnavailable) {  // the saga may have been started: only the key makes it safe to ask again
      context.output.note(std::format("whether it was started is not known; repeat safely with --idempotency-key {}", key));
    }
    return context.output.failure(saga.error());
  }
  (*saga)["idempotency_key"] = key;
  context.output.result(*saga, [&] {
    const Cell status = saga_status(*saga);
    context.output.line(std::format("saga             {}", text_of(*saga, "id")));
    context.output.line(std::format("status           {}", status.text), status.tone);
    context.output.line(std::format("business key     {}", text_of(*saga, "business_key")));
    context.output.line(std::format("idempotency key  {}", key));
    if (!is_at_rest(*saga)) {
      context.output.line(std::format("follow it with   outrigger saga watch {}", text_of(*saga, "id")), Tone::kFaint);
    }
  });
  if (const std::string status = saga_status(*saga).text; !options.expect.empty() && status != options.expect) {
    return context.output.failure({is_at_rest(*saga) ? ErrorCode::kFailedPrecondition : ErrorCode::kDeadlineExceeded,
                                   std::format("is {} after at most {}, expected {}", status, options.wait, options.expect), text_of(*saga, "id")});
  }
  return exit_code::kOk;
}

}  // namespace

void add_saga_start(const SagaGroup& group) {
  auto options = std::make_shared<StartOptions>();
  CLI::App& command =
      group.add("start", "Start a saga from a JSON object", options->url, [options](CommandContext& context) { return start(*options, context); });
  command.add_option("FILE", options->file, "File with the JSON object, - for standard input")->capture_default_str();
  command.add_option("--definition", options->definition, "What the object is the input of [an order, at /v1/orders]");
  command.add_option("--business-key", options->business_key, "What the saga is to be found by")->needs("--definition");
  command.add_option("--idempotency-key", options->idempotency_key, "Repeating a start with the same key starts nothing new [a new one]");
  command.add_option("--wait", options->wait, "Let the service wait so long for the end, e.g. 5s");
  command.add_option("--expect", options->expect, "Fail unless it has ended so by then")->check(CLI::IsMember(saga_statuses()))->needs("--wait");
  explain(command, {.description = "The service answers once the start is durable. The idempotency key is printed: when it is not known whether\n"
                                   "a start arrived, repeat it with the same key.",
                    .exit_status = "0   started, and with --expect ended so\n"
                                   "1   refused, or not ended as expected\n"
                                   "2   wrong flags or input; nothing was started\n"
                                   "69  nobody answers; whether it was started is not known",
                    .examples = "outrigger saga start order.json --wait 5s\n"
                                "outrigger saga start --definition travel --business-key T-17 < trip.json"});
}

}  // namespace outrigger::cli
