#pragma once

namespace outrigger::cli {

class CommandLine;

/// `outrigger saga start|get|list|watch`: sagas through the service's HTTP API.
void add_saga_commands(CommandLine& command_line);

}  // namespace outrigger::cli
