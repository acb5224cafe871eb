#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace outrigger::cli {

/// What --help says of a command beside its options. Lines are broken by whoever writes them, at 100 columns or less.
struct Manual {
  std::string description;  ///< whole sentences; the one-line description of the command stands above
  std::string exit_status;  ///< where it says more than 0, 1, 2 and 69
  std::string examples;     ///< command lines
};

/// Lays --help out as a man page: NAME, SYNOPSIS, DESCRIPTION, ARGUMENTS, OPTIONS, COMMANDS, EXIT STATUS, EXAMPLES. Commands made
/// below an App that has it inherit it.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> make_manual_formatter();

/// Gives a command its manual. The command must be below an App with the formatter above, else it ends the process.
void explain(CLI::App& command, Manual manual);

}  // namespace outrigger::cli
