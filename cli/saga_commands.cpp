#include "cli/saga_commands.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "cli/command_line.h"
#include "cli/manual.h"
#include "cli/saga_group.h"

namespace outrigger::cli {

CLI::App& SagaGroup::add(const std::string& name, const std::string& description, std::string& url, Action action) const {
  CLI::App& command = command_line.add_command(app, name, description, std::move(action));
  command.add_option("--url", url, "The service, directly or through its sidecar")->envname("OUTRIGGER_URL")->capture_default_str();
  return command;
}

const std::vector<std::string>& saga_statuses() {
  static const std::vector<std::string> kStatuses{"RUNNING", "COMPENSATING", "COMPLETED", "COMPENSATED", "STUCK", "ABANDONED", "PAUSED"};
  return kStatuses;
}

void add_saga_commands(CommandLine& command_line) {
  const SagaGroup group{command_line, command_line.add_group("saga", "Start, follow and operate sagas")};
  explain(group.app, {.description = "A saga is RUNNING, COMPENSATING, or has ended: COMPLETED (every step succeeded), COMPENSATED (every effect\n"
                                     "was undone) or ABANDONED (an operator gave it up). STUCK waits for an operator: a step that cannot be\n"
                                     "done without, or an undo, has used up its retries. PAUSED waits for `resume`. Whatever an operator does is in "
                                     "the saga's history, with who and why.",
                      .exit_status = {},
                      .examples = "outrigger saga start order.json --wait 5s\n"
                                  "outrigger saga list --status STUCK --older-than 10m\n"
                                  "outrigger saga retry p3-01JE… --reason 'the warehouse is back'"});
  add_saga_start(group);
  add_saga_read(group);
  add_saga_watch(group);
  add_saga_operate(group);
}

}  // namespace outrigger::cli
