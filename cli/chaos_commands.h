#pragma once

namespace outrigger::cli {

class CommandLine;

/// `outrigger chaos`: validate, plan, run and recover.
void add_chaos_commands(CommandLine& command_line);

}  // namespace outrigger::cli
