#pragma once

namespace outrigger::cli {

class CommandLine;

/// `outrigger fault apply|list|delete`: faults of one sidecar through its gRPC admin API.
void add_fault_commands(CommandLine& command_line);

}  // namespace outrigger::cli
