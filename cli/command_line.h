#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "cli/output.h"

namespace CLI {
class App;
}

namespace outrigger::cli {

/// The `outrigger` command: global options, groups ("saga") and their commands ("list").
///
/// A group is a function `void add_NAME_commands(CommandLine&)` in cli/NAME_commands.{h,cpp}; main.cpp lists them. It makes its
/// group, adds commands with options on the returned CLI::App, and lets each command's action do the work:
///
///     auto& group = command_line.add_group("saga", "Start and follow sagas");
///     auto options = std::make_shared<ListOptions>();
///     auto& list = command_line.add_command(group, "list", "Sagas, newest first", [options](CommandContext& context) { … });
///     list.add_option("--limit", options->limit, "…")->capture_default_str();
///
/// Misspelled commands and options are answered with the nearest name and exit code 2.
struct CommandContext {
  std::istream& in;
  Output& output;
};

/// Runs when its command was chosen; returns the exit code.
using Action = std::function<int(CommandContext&)>;

class CommandLine final {
 public:
  struct Streams {
    std::istream& in;
    std::ostream& out;
    std::ostream& error;
    bool out_has_colour = false;
    bool error_has_colour = false;
  };

  explicit CommandLine(Streams streams);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CLI::App& add_group(const std::string& name, const std::string& description);

  /// A command without a group: `outrigger load`.
  CLI::App& add_command(const std::string& name, const std::string& description, Action action);

  /// `parent` is a group or the result of another add_command.
  CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& description, Action action);

  /// Parses and runs the chosen command; returns the exit code of the process. Never throws.
  int run(int argc, const char* const* argv);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outrigger::cli
