#include "cli/saga_commands.h"

#include <chrono>
#include <format>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/saga_view.h"
#include "cli/service_client.h"
#include "lib/runtime/duration.h"
#include "lib/runtime/ids.h"

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

struct SagaOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string id;
  // start
  std::string file = "-";
  std::string idempotency_key;
  std::string wait;
  std::string expect;  // of watch too
  // list
  std::string status;
  std::string definition;
  std::string business_key;
  std::string cursor;
  int limit = 50;
  // watch
  std::string timeout = "10m";
};

const std::vector<std::string> kStatuses{"RUNNING", "COMPENSATING", "COMPLETED", "COMPENSATED", "STUCK", "ABANDONED"};

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

int start(const SagaOptions& options, CommandContext& context) {
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

void show(const Json& saga, Output& output) {
  const Cell status = saga_status(saga);
  output.line(std::format("saga          {}", text_of(saga, "id")));
  output.line(std::format("definition    {} version {}", text_of(saga, "definition"), text_of(saga, "definition_version")));
  output.line(std::format("status        {}", status.text), status.tone);
  output.line(std::format("business key  {}", text_of(saga, "business_key")));
  output.line(std::format("created       {}", text_of(saga, "created_at")));
  output.line(std::format("updated       {}", text_of(saga, "updated_at")));
  output.line(std::format("deadline      {}", text_of(saga, "deadline")));
  output.line("");
  output.table(saga_steps(saga));
  output.line("");
  output.table(saga_timeline(saga));
}

int get(const SagaOptions& options, CommandContext& context) {
  auto client = ServiceClient::make(options.url);
  if (!client) {
    return context.output.failure(client.error());
  }
  const auto saga = client->get("/v1/sagas/" + percent_encode(options.id));
  if (!saga) {
    return context.output.failure(saga.error());
  }
  context.output.result(*saga, [&] { show(*saga, context.output); });
  return exit_code::kOk;
}

int list(const SagaOptions& options, CommandContext& context) {
  auto client = ServiceClient::make(options.url);
  if (!client) {
    return context.output.failure(client.error());
  }
  std::string path = std::format("/v1/sagas?limit={}", options.limit);
  for (const auto& [name, value] : {std::pair{"status", &options.status},
                                    {"definition", &options.definition},
                                    {"business_key", &options.business_key},
                                    {"cursor", &options.cursor}}) {
    path += value->empty() ? "" : std::format("&{}={}", name, percent_encode(*value));
  }
  const auto page = client->get(path);
  if (!page) {
    return context.output.failure(page.error());
  }
  context.output.result(*page, [&] {
    const Json sagas = page->value("sagas", Json::array());
    context.output.table(saga_list(sagas));
    if (const std::string next = text_of(*page, "next_cursor"); !next.empty()) {
      context.output.note(std::format("more with --cursor {}", next));
    }
  });
  return exit_code::kOk;
}

/// The saga, once it has a version beyond `after_version` or the server's wait ended. Outages are waited out until the deadline:
/// a service that restarts finishes its sagas.
Result<Json> next_version(ServiceClient& client, const SagaOptions& options, std::optional<std::int64_t> after_version, Clock::time_point deadline,
                          Output& output) {
  constexpr seconds kServerWait{10};
  constexpr milliseconds kPause{500};
  bool has_told = false;
  for (;;) {
    const std::string path = "/v1/sagas/" + percent_encode(options.id) +
                             (after_version ? std::format("?after_version={}&wait={}s", *after_version, kServerWait.count()) : "");
    const auto asked = Clock::now();
    auto saga = client.get(path, kServerWait + seconds{5});
    const bool is_outage = !saga && (saga.error().code == ErrorCode::kUnavailable || saga.error().code == ErrorCode::kResourceExhausted);
    if (!is_outage || !after_version || Clock::now() >= deadline) {
      if (saga && after_version && saga->value("version", std::int64_t{0}) == *after_version && Clock::now() - asked < kPause) {
        std::this_thread::sleep_for(kPause);  // a server that does not wait is not asked in a tight loop
      }
      return saga;
    }
    if (!has_told) {
      output.note(std::format("{}; still trying", saga.error().to_string()));
      has_told = true;
    }
    std::this_thread::sleep_for(kPause);
  }
}

int watch(const SagaOptions& options, CommandContext& context) {
  auto client = ServiceClient::make(options.url);
  const auto timeout = parse_duration(options.timeout);
  if (!client || !timeout) {
    return context.output.failure(!client ? client.error() : Error{timeout.error().code, timeout.error().message, "--timeout"});
  }
  const auto deadline = Clock::now() + *timeout;
  std::optional<std::int64_t> version;
  std::size_t shown = 0;
  for (;;) {
    const auto saga = next_version(*client, options, version, deadline, context.output);
    if (!saga) {
      return context.output.failure(saga.error());
    }
    if (const auto now = saga->value("version", std::int64_t{0}); now != version) {
      context.output.event(*saga, [&] {
        for (const auto& row : saga_timeline(*saga, shown).rows) {
          context.output.line(std::format("{}  {:<24}  {:<20}  {}", row[0].text, row[1].text, row[2].text, row[3].text));
        }
        shown = saga->value("history", Json::array()).size();
      });
      version = now;
    }
    if (is_at_rest(*saga)) {
      const Cell status = saga_status(*saga);
      if (context.output.format() == OutputFormat::kTable) {
        context.output.line(status.text, status.tone);
      }
      if (!options.expect.empty() && status.text != options.expect) {
        return context.output.failure(
            {ErrorCode::kFailedPrecondition, std::format("ended as {}, expected {}", status.text, options.expect), options.id});
      }
      return status.text == "STUCK" && options.expect.empty() ? exit_code::kFailed : exit_code::kOk;
    }
    if (Clock::now() >= deadline) {
      return context.output.failure(
          {ErrorCode::kDeadlineExceeded, std::format("still {} after {}", text_of(*saga, "status"), options.timeout), options.id});
    }
  }
}

}  // namespace

void add_saga_commands(CommandLine& command_line) {
  CLI::App& group = command_line.add_group("saga", "Start and follow sagas");
  auto options = std::make_shared<SagaOptions>();
  const auto add = [&](const char* name, const char* description, int (*run)(const SagaOptions&, CommandContext&)) -> CLI::App& {
    CLI::App& command =
        command_line.add_command(group, name, description, [options, run](CommandContext& context) { return run(*options, context); });
    command.add_option("--url", options->url, "The service, directly or through its sidecar")->envname("OUTRIGGER_URL")->capture_default_str();
    return command;
  };

  CLI::App& starting = add("start", "Start a saga from a JSON object", start);
  starting.add_option("FILE", options->file, "File with the JSON object, - for standard input")->capture_default_str();
  starting.add_option("--definition", options->definition, "What the object is the input of [an order, at /v1/orders]");
  starting.add_option("--business-key", options->business_key, "What the saga is to be found by")->needs("--definition");
  starting.add_option("--idempotency-key", options->idempotency_key, "Repeating a start with the same key starts nothing new [a new one]");
  starting.add_option("--wait", options->wait, "Let the service wait so long for the end, e.g. 5s");
  starting.add_option("--expect", options->expect, "Fail unless it has ended so by then")->check(CLI::IsMember(kStatuses))->needs("--wait");
  starting.footer(
      "The key is printed. When it is not known whether a start arrived, repeat it with the same key.\n"
      "Example: outrigger saga start order.json --wait 5s");

  CLI::App& getting = add("get", "One saga: its steps and what happened", get);
  getting.add_option("SAGA", options->id, "Id of the saga")->required();

  CLI::App& listing = add("list", "Sagas, newest first", list);
  listing.add_option("--status", options->status, "Only these")->check(CLI::IsMember(kStatuses));
  listing.add_option("--definition", options->definition, "Only of this definition");
  listing.add_option("--business-key", options->business_key, "Only with this business key, e.g. an order id");
  listing.add_option("--limit", options->limit, "At most so many")->check(CLI::Range(1, 500))->capture_default_str();
  listing.add_option("--cursor", options->cursor, "Go on where an earlier list ended");

  CLI::App& watching = add("watch", "Print what happens to a saga until it ends", watch);
  watching.add_option("SAGA", options->id, "Id of the saga")->required();
  watching.add_option("--timeout", options->timeout, "Longest wait for the end")->capture_default_str();
  watching.add_option("--expect", options->expect, "Fail unless it ends so")->check(CLI::IsMember(kStatuses));
  watching.footer("Exit status: 0 it ended (and as expected), 1 it is STUCK, did not end in time or not as expected, 69 nobody answers.");
}

}  // namespace outrigger::cli
