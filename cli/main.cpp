#include <unistd.h>

#include <iostream>

#include "cli/chaos_commands.h"
#include "cli/command_line.h"
#include "cli/fault_commands.h"
#include "cli/load_commands.h"
#include "cli/output.h"
#include "cli/saga_commands.h"
#include "cli/slo_commands.h"

int main(int argc, char** argv) {
  using namespace outrigger::cli;
  CommandLine command_line({std::cin, std::cout, std::cerr, wants_colour(STDOUT_FILENO), wants_colour(STDERR_FILENO)});
  add_saga_commands(command_line);
  add_fault_commands(command_line);
  add_chaos_commands(command_line);
  add_load_commands(command_line);
  add_slo_commands(command_line);
  return command_line.run(argc, argv);
}
