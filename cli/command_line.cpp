#include "cli/command_line.h"

#include <format>
#include <map>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/manual.h"
#include "lib/yaml/suggest.h"

namespace outrigger::cli {

struct CommandLine::State {
  explicit State(Streams s) : streams(s), output(s.out, s.error, s.out_has_colour, s.error_has_colour) {}

  Streams streams;
  Output output;
  CLI::App app{"Runs, watches and breaks a system of sagas on purpose.", "outrigger"};
  OutputFormat format = OutputFormat::kTable;
  Action chosen;
};

namespace {

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

const CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* sub) { return sub->check_name(name); });
  return found.empty() ? nullptr : found.front();
}

const CLI::Option* find_option(const CLI::App* app, const std::string& name) {
  for (; app != nullptr; app = app->get_parent()) {
    if (const CLI::Option* option = app->get_option_no_throw(name)) {
      return option;
    }
  }
  return nullptr;
}

/// "; did you mean 'list'?", the end of a message.
std::string suggestion(const std::string& unknown, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return "; " + yaml::suggestion(unknown, views);
}

std::vector<std::string> option_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

/// What CLI11 would only call unexpected: a command or an option that does not exist. Empty when it finds none.
std::string unknown_name(const CLI::App& root, int argc, const char* const* argv) {
  const CLI::App* app = &root;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") {
      break;
    }
    if (argument.starts_with("--")) {
      const std::string name = argument.substr(0, argument.find('='));
      const CLI::Option* option = find_option(app, name);
      if (option == nullptr) {
        return std::format("{} has no option {}{}", full_name(*app), name, suggestion(name, option_names(app)));
      }
      if (option->get_items_expected_max() > 0 && !argument.contains('=')) {
        ++i;
      }
    } else if (argument.starts_with("-") && argument.size() > 1) {
      const CLI::Option* option = find_option(app, argument.substr(0, 2));
      if (option != nullptr && option->get_items_expected_max() > 0 && argument.size() == 2) {
        ++i;
      }
    } else if (const std::vector<std::string> names = subcommand_names(*app); !names.empty()) {
      const CLI::App* sub = find_subcommand(*app, argument);
      if (sub == nullptr) {
        return std::format("{} has no command \"{}\"{}", full_name(*app), argument, suggestion(argument, names));
      }
      app = sub;
    }
  }
  return {};
}

/// The innermost command that was named: its --help helps most.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

}  // namespace

CommandLine::CommandLine(Streams streams) : state_(std::make_unique<State>(streams)) {
  static const std::map<std::string, OutputFormat> kFormats{
      {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}, {"yaml", OutputFormat::kYaml}};
  CLI::App& app = state_->app;
  app.formatter(make_manual_formatter());
  app.fallthrough();  // global options stand anywhere: `outrigger saga list --output json`
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "Explain the command and exit");
  app.set_version_flag("--version", "outrigger " OUTRIGGER_VERSION);
  app.add_option("-o,--output", state_->format, "table, json or yaml")
      ->transform(CLI::CheckedTransformer(kFormats, CLI::ignore_case))
      ->option_text("FORMAT [table]");
  explain(app,
          {.description = "`outrigger COMMAND --help` explains a command. With --output json or yaml a command prints one document for programs;\n"
                          "remarks and errors go to standard error.",
           .exit_status = "0   done\n1   it ran, and the answer is no\n2   wrong flags or input\n69  nobody answers",
           .examples = {}});
}

CommandLine::~CommandLine() = default;

CLI::App& CommandLine::add_group(const std::string& name, const std::string& description) {
  CLI::App& group = *state_->app.add_subcommand(name, description);
  group.require_subcommand(1);
  group.footer("");
  return group;
}

CLI::App& CommandLine::add_command(const std::string& name, const std::string& description, Action action) {
  return add_command(state_->app, name, description, std::move(action));
}

CLI::App& CommandLine::add_command(CLI::App& parent, const std::string& name, const std::string& description, Action action) {
  CLI::App& command = *parent.add_subcommand(name, description);
  command.require_subcommand(0);
  command.footer("");
  command.final_callback([this, action = std::move(action)] { state_->chosen = action; });
  return command;
}

int CommandLine::run(int argc, const char* const* argv) {
  State& state = *state_;
  try {
    if (const std::string problem = unknown_name(state.app, argc, argv); !problem.empty()) {
      return state.output.failure({ErrorCode::kInvalidArgument, problem, {}});
    }
    state.app.parse(argc, argv);
    state.output.set_format(state.format);
    CommandContext context{state.streams.in, state.output};
    return state.chosen ? state.chosen(context) : exit_code::kUsage;
  } catch (const CLI::Success& asked) {  // --help, --version
    return state.app.exit(asked, state.streams.out, state.streams.error);
  } catch (const CLI::ParseError& wrong) {
    const CLI::App& command = innermost(state.app);
    return state.output.failure({ErrorCode::kInvalidArgument, std::format("{} (see: {} --help)", wrong.what(), full_name(command)), {}});
  } catch (const std::exception& unexpected) {
    return state.output.failure({ErrorCode::kInternal, unexpected.what(), {}});
  }
}

}  // namespace outrigger::cli
