#include "cli/manual.h"

#include <algorithm>
#include <cctype>
#include <format>
#include <map>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "lib/runtime/error.h"

namespace outrigger::cli {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr const char* kExitStatus =
    "0   done\n"
    "1   it ran, and the answer is no\n"
    "2   wrong flags or input; nothing was done\n"
    "69  nobody answers";

std::string indented(std::string_view text) {
  std::string out;
  for (const auto line : std::views::split(text, '\n')) {
    const std::string_view view(line);
    out.append(view.empty() ? "" : kIndent).append(view).append("\n");
  }
  return out;
}

std::string section(std::string_view heading, std::string_view text) { return text.empty() ? "" : std::format("\n{}\n{}", heading, indented(text)); }

std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

class ManualFormatter final : public CLI::Formatter {
 public:
  ManualFormatter() {
    label("Positionals", "Arguments");
    label("REQUIRED", "(required)");
    column_width(32);
  }

  void add(const CLI::App* command, Manual manual) { manuals_[command] = std::move(manual); }

  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override {
    std::string out = std::format("\n{}\n", in_capitals(std::move(group)));
    for (const CLI::Option* option : options) {
      out += make_option(option, is_positional);
    }
    return out;
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Sub) {
      return make_expanded(app);
    }
    const auto found = manuals_.find(app);
    const Manual manual = found == manuals_.end() ? Manual{} : found->second;
    std::string out = std::format("NAME\n{}{} - {}\n", kIndent, name, app->get_description());
    out += section("SYNOPSIS", synopsis(app, std::move(name)));
    out += section("DESCRIPTION", manual.description);
    out += make_positionals(app) + make_groups(app, mode) + inherited(app) + commands(app);
    out += section("EXIT STATUS", manual.exit_status.empty() && app->get_subcommands({}).empty() ? kExitStatus : manual.exit_status);
    out += section("EXAMPLES", manual.examples);
    return out + make_footer(app);
  }

 private:
  [[nodiscard]] std::string synopsis(const CLI::App* app, std::string name) const {
    const std::string usage = make_usage(app, std::move(name));
    const auto begin = usage.find(": ");
    return usage.substr(begin == std::string::npos ? 0 : begin + 2, usage.find_last_not_of('\n') - (begin == std::string::npos ? 0 : begin + 2) + 1);
  }

  /// The options of the commands above: they stand anywhere.
  [[nodiscard]] std::string inherited(const CLI::App* app) const {
    std::vector<const CLI::Option*> options;
    for (const CLI::App* above = app->get_parent(); above != nullptr; above = above->get_parent()) {
      for (const CLI::Option* option : above->get_options()) {
        if (option->nonpositional() && option != above->get_help_ptr() && option != above->get_version_ptr()) {
          options.push_back(option);
        }
      }
    }
    return options.empty() ? "" : make_group("Global options", false, options);
  }

  [[nodiscard]] std::string commands(const CLI::App* app) const {
    const auto all = app->get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
    std::string out = all.empty() ? "" : "\nCOMMANDS\n";
    for (const CLI::App* command : all) {
      out += make_subcommand(command);
    }
    return out;
  }

  std::map<const CLI::App*, Manual> manuals_;
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> make_manual_formatter() { return std::make_shared<ManualFormatter>(); }

void explain(CLI::App& command, Manual manual) {
  const auto formatter = std::dynamic_pointer_cast<ManualFormatter>(command.get_formatter());
  if (!formatter) {
    impossible("command line", "a command without the manual's formatter");
  }
  formatter->add(&command, std::move(manual));
}

}  // namespace outrigger::cli
