#include <format>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/manual.h"
#include "cli/saga_group.h"
#include "cli/saga_view.h"
#include "cli/service_client.h"
#include "lib/runtime/duration.h"

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;

struct GetOptions {
  std::string url = kDefaultServiceUrl;
  std::string id;
};

struct ListOptions {
  std::string url = kDefaultServiceUrl;
  std::string status;
  std::string definition;
  std::string business_key;
  std::string older_than;
  std::string newer_than;
  std::string cursor;
  int limit = 50;
};

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

int get(const GetOptions& options, CommandContext& context) {
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

int list(const ListOptions& options, CommandContext& context) {
  auto client = ServiceClient::make(options.url);
  if (!client) {
    return context.output.failure(client.error());
  }
  std::string path = std::format("/v1/sagas?limit={}", options.limit);
  for (const auto& [name, value] : {std::pair{"status", &options.status},
                                    {"definition", &options.definition},
                                    {"business_key", &options.business_key},
                                    {"older_than", &options.older_than},
                                    {"newer_than", &options.newer_than},
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

/// Said here, with the flag's name, rather than by the service.
std::string refuse_unless_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  return duration ? std::string() : duration.error().message;
}

}  // namespace

void add_saga_read(const SagaGroup& group) {
  auto getting = std::make_shared<GetOptions>();
  CLI::App& one =
      group.add("get", "One saga: its steps and what happened", getting->url, [getting](CommandContext& context) { return get(*getting, context); });
  one.add_option("SAGA", getting->id, "Id of the saga")->required();
  explain(one, {.description = "Prints the saga's head, its steps with attempts and results, and the last events of its history.",
                .exit_status = {},
                .examples = "outrigger saga get p3-01JE… --output json | jq .steps"});

  auto listing = std::make_shared<ListOptions>();
  CLI::App& list_command =
      group.add("list", "Sagas, newest first", listing->url, [listing](CommandContext& context) { return list(*listing, context); });
  list_command.add_option("--status", listing->status, "Only these")->check(CLI::IsMember(saga_statuses()));
  list_command.add_option("--definition", listing->definition, "Only of this definition");
  list_command.add_option("--business-key", listing->business_key, "Only with this business key, e.g. an order id");
  list_command.add_option("--older-than", listing->older_than, "Only those created longer ago, e.g. 10m")->check(refuse_unless_duration);
  list_command.add_option("--newer-than", listing->newer_than, "Only those created since, e.g. 1h")->check(refuse_unless_duration);
  list_command.add_option("--limit", listing->limit, "At most so many")->check(CLI::Range(1, 500))->capture_default_str();
  list_command.add_option("--cursor", listing->cursor, "Go on where an earlier list ended");
  explain(list_command, {.description = "Filters add up. A page may hold fewer than --limit; it was the last when no cursor is printed.",
                         .exit_status = {},
                         .examples = "outrigger saga list --status RUNNING --older-than 10m\n"
                                     "outrigger saga list --status STUCK --output json | jq -r '.sagas[].id'"});
}

}  // namespace outrigger::cli
