#pragma once

namespace outrigger::cli {

class CommandLine;

/// `outrigger load`: an open-loop load on one URL.
void add_load_commands(CommandLine& command_line);

}  // namespace outrigger::cli
