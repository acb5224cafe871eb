#include <unistd.h>

#include <array>
#include <cstdlib>
#include <format>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/manual.h"
#include "cli/saga_group.h"
#include "cli/saga_view.h"
#include "cli/service_client.h"

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What an operator may do to a saga; `name` is the verb of the API too.
struct Verb {
  const char* name;
  const char* description;
  const char* manual;
  bool has_step = false;  ///< may name a step
};

constexpr std::array kVerbs{
    Verb{"cancel", "Stop a running saga and undo what it did",
         "For a RUNNING saga; it becomes COMPENSATING and ends COMPENSATED. A repeat is no error. Past its pivot a saga cannot be\n"
         "cancelled."},
    Verb{"pause", "Send nothing more until it is resumed",
         "Answers that are on their way are still taken in. The saga is PAUSED, and its deadline goes on."},
    Verb{"resume", "Go on where it was paused", "For a PAUSED saga: it is what it was before."},
    Verb{"retry", "Send now what waits to be sent again",
         "A step that waits for its next attempt, and one that is STUCK: it gets all its attempts again. What is on its way already\n"
         "is not sent twice.",
         true},
    Verb{"skip", "Go on without a step that is stuck",
         "For a STUCK saga. An undo that is skipped leaves its step's effect; the other steps are undone. Use `complete` where it was\n"
         "done by hand.",
         true},
    Verb{"complete", "Say that a stuck step was done by hand",
         "For a STUCK saga. The step, or its undo, counts as done, and the saga goes on. Nothing is sent to the participant.", true},
    Verb{"compensate", "Stop a running saga and undo what it did; a repeat is refused", "For a RUNNING saga. As `cancel`, but only once."},
    Verb{"abandon", "End a saga as it stands",
         "Nothing more is sent; the saga ends ABANDONED. Effects that were not undone remain, and nobody will undo them:\n"
         "use it only when they were seen to otherwise."},
};

struct OperateOptions {
  std::string url = kDefaultServiceUrl;
  std::string id;
  std::string reason;
  std::string actor;
  std::string step;
};

/// "ana@bastion-1": good enough for an audit on a machine that people log in to.
std::string default_actor() {
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread, at the start
  std::array<char, 256> host{};
  const bool has_host = gethostname(host.data(), host.size() - 1) == 0;
  return std::format("{}@{}", user == nullptr ? "unknown" : user, has_host ? host.data() : "unknown");
}

int operate(const Verb& verb, const OperateOptions& options, CommandContext& context) {
  auto client = ServiceClient::make(options.url);
  if (!client) {
    return context.output.failure(client.error());
  }
  Json body{{"actor", options.actor}, {"reason", options.reason}};
  if (!options.step.empty()) {
    body["step"] = options.step;
  }
  const auto saga = client->post(std::format("/v1/sagas/{}:{}", percent_encode(options.id), verb.name),
                                 body.dump(-1, ' ', false, Json::error_handler_t::replace), {});
  if (!saga) {
    if (saga.error().code == ErrorCode::kUnavailable) {
      context.output.note(std::format("whether it was done is not known; see: outrigger saga get {}", options.id));
    }
    return context.output.failure(saga.error());
  }
  context.output.result(*saga, [&] {
    const Cell status = saga_status(*saga);
    context.output.line(std::format("saga    {}", text_of(*saga, "id")));
    context.output.line(std::format("status  {}", status.text), status.tone);
    if (!is_at_rest(*saga)) {
      context.output.line(std::format("follow it with  outrigger saga watch {}", text_of(*saga, "id")), Tone::kFaint);
    }
  });
  return exit_code::kOk;
}

}  // namespace

void add_saga_operate(const SagaGroup& group) {
  for (const Verb& verb : kVerbs) {
    auto options = std::make_shared<OperateOptions>();
    options->actor = default_actor();
    CLI::App& command =
        group.add(verb.name, verb.description, options->url, [&verb, options](CommandContext& context) { return operate(verb, *options, context); });
    command.add_option("SAGA", options->id, "Id of the saga")->required();
    command.add_option("--reason", options->reason, "Why; kept in the saga's history")->required();
    command.add_option("--actor", options->actor, "Who; kept in the saga's history")->envname("OUTRIGGER_ACTOR")->capture_default_str();
    if (verb.has_step) {
      command.add_option("--step", options->step, "Only this one, where several are stuck or wait");
    }
    explain(command, {.description = verb.manual,
                      .exit_status = "0   done, durably\n"
                                     "1   the saga's state does not allow it, or there is no such saga\n"
                                     "2   wrong flags\n"
                                     "69  nobody answers; whether it was done is not known",
                      .examples = std::format("outrigger saga {} p3-01JE… --reason 'ticket 4711'", verb.name)});
  }
}

}  // namespace outrigger::cli
