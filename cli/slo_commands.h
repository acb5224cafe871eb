#pragma once

namespace outrigger::cli {

class CommandLine;

/// `outrigger slo`: from objectives to Prometheus rules and their tests.
void add_slo_commands(CommandLine& command_line);

}  // namespace outrigger::cli
