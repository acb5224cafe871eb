#include "cli/chaos_commands.h"

#include <fstream>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "chaos/report/report.h"
#include "chaos/runner/environment.h"
#include "chaos/runner/journal.h"
#include "chaos/runner/plan.h"
#include "chaos/runner/recover.h"
#include "chaos/runner/run.h"
#include "chaos/spec/scenario.h"
#include "cli/command_line.h"
#include "lib/runtime/ids.h"
#include "lib/runtime/lifecycle.h"

namespace outrigger::cli {
namespace {

constexpr const char* kFooter =
    "Exit status: 0 pass, 1 the hypothesis failed, 2 invalid input, 3 inconclusive (no proven dose, invalid load, unstable baseline, too few "
    "samples),\n"
    "4 preflight refused and nothing injected, 5 aborted and clean, 6 clean-up incomplete: a fault may still be armed until its TTL ends.";

struct ChaosOptions {
  std::string file;
  std::vector<std::string> set;
  bool execute = false;
  std::string journal;
  std::string report;
};

int code(chaos::Verdict verdict) { return static_cast<int>(verdict); }

/// What the input is wrong about is 2 here, whatever kind of error it is.
int invalid(CommandContext& context, const Error& error) {
  context.output.failure(error);
  return code(chaos::Verdict::kInvalid);
}

Result<chaos::Scenario> read(const ChaosOptions& options) {
  chaos::Texts overrides;
  for (const auto& text : options.set) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::kInvalidArgument, "write it as name=value", "--set " + text);
    }
    overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return chaos::read_scenario_file(options.file, overrides);
}

Tone tone_of(std::string_view line) {
  if (line.contains("REFUSED") || line.contains("NOT ") || line.contains("INCOMPLETE") || line.ends_with(": fail") ||
      line.starts_with("verdict: failed")) {
    return Tone::kBad;
  }
  if (line.starts_with("verdict: pass") || line.ends_with(": pass") || line.ends_with(": proven")) {
    return Tone::kGood;
  }
  return line.starts_with("verdict:") || line.ends_with(": inconclusive") ? Tone::kWarning : Tone::kPlain;
}

void print(Output& output, const nlohmann::ordered_json& document, std::string_view text) {
  output.result(document, [&] {
    text.remove_suffix(text.ends_with('\n') ? 1 : 0);
    for (const auto line : std::views::split(text, '\n')) {
      output.line(std::string_view(line), tone_of(std::string_view(line)));
    }
  });
}

int validate(const ChaosOptions& options, CommandContext& context) {
  const auto scenario = read(options);
  if (!scenario) {
    return invalid(context, scenario.error());
  }
  print(context.output, {{"scenario", scenario->name}, {"valid", true}}, scenario->file + ": valid scenario " + scenario->name);
  return code(chaos::Verdict::kPass);
}

chaos::Environment environment_of(StopSignal& signal, CommandContext& context) {
  return chaos::real_environment(signal, [&context](std::string_view text) { context.output.note(text); });
}

int plan(const chaos::Scenario& scenario, CommandContext& context) {
  StopSignal signal;
  const auto made = chaos::make_plan(scenario, make_ulid(), environment_of(signal, context));
  print(context.output, chaos::to_json(scenario, made), chaos::to_text(scenario, made));
  return code(made.is_feasible() ? chaos::Verdict::kPass : chaos::Verdict::kRefused);
}

/// Opened before anything is injected, so that a report that cannot be written is known in time.
Result<std::ofstream> open_report(const std::string& path) {
  std::ofstream out;
  if (!path.empty()) {
    out.open(path, std::ios::trunc);
    if (!out) {
      return fail(ErrorCode::kInvalidArgument, "cannot be written: check the folder", path);
    }
  }
  return out;
}

int execute(const ChaosOptions& options, const chaos::Scenario& scenario, CommandContext& context) {
  StopSignal signal;  // before gRPC and the load start threads
  const auto run_id = make_ulid();
  auto report_file = open_report(options.report);
  if (!report_file) {
    return invalid(context, report_file.error());
  }
  auto journal = chaos::Journal::create(options.journal.empty() ? "chaos-" + scenario.name + "-" + run_id + ".jsonl" : options.journal, run_id);
  if (!journal) {
    return invalid(context, journal.error());
  }
  context.output.note("run " + run_id + ", journal " + (*journal)->path());
  const auto report = chaos::run(scenario, run_id, **journal, environment_of(signal, context));
  const auto document = chaos::to_json(scenario, report);
  if (report_file->is_open() && !(*report_file << document.dump(2) << '\n' << std::flush)) {
    context.output.note("the report could not be written to " + options.report);
  }
  print(context.output, document, chaos::to_text(scenario, report));
  return code(report.decision.verdict);
}

int run(const ChaosOptions& options, CommandContext& context) {
  const auto scenario = read(options);
  if (!scenario) {
    return invalid(context, scenario.error());
  }
  return options.execute ? execute(options, *scenario, context) : plan(*scenario, context);
}

int recover(const ChaosOptions& options, CommandContext& context) {
  StopSignal signal;
  auto journal = chaos::Journal::reopen(options.journal);
  if (!journal) {
    context.output.failure(journal.error());
    return code(journal.error().code == ErrorCode::kFailedPrecondition ? chaos::Verdict::kRefused : chaos::Verdict::kInvalid);
  }
  const auto recovery = chaos::recover(**journal, environment_of(signal, context));
  if (!recovery) {
    return invalid(context, recovery.error());
  }
  print(context.output, chaos::to_json(*recovery), chaos::to_text(*recovery));
  return code(recovery->decision.verdict);
}

void add_scenario_options(CLI::App& command, ChaosOptions& options) {
  command.add_option("file", options.file, "Scenario file")->required();
  command.add_option("--set", options.set, "Value of a parameter, name=value; may be repeated")->allow_extra_args(false);
  command.footer(kFooter);
}

}  // namespace

void add_chaos_commands(CommandLine& command_line) {
  auto options = std::make_shared<ChaosOptions>();
  auto& group = command_line.add_group("chaos", "Inject faults on purpose and judge what they did");
  group.footer(kFooter);

  auto& validate_command = command_line.add_command(group, "validate", "Check a scenario file; opens no connection",
                                                    [options](CommandContext& context) { return validate(*options, context); });
  add_scenario_options(validate_command, *options);

  auto& plan_command = command_line.add_command(group, "plan", "Look whether a scenario could run: targets, probes, samples; injects nothing",
                                                [options](CommandContext& context) { return run(*options, context); });
  add_scenario_options(plan_command, *options);

  auto& run_command = command_line.add_command(group, "run", "Plan, and with --execute inject, measure, clean up and judge",
                                               [options](CommandContext& context) { return run(*options, context); });
  add_scenario_options(run_command, *options);
  run_command.add_flag("--execute", options->execute, "Really inject; without it nothing but the plan is made");
  run_command.add_option("--journal", options->journal, "New file for the run's journal, which `recover` reads")
      ->option_text("FILE [chaos-NAME-RUN.jsonl]");
  run_command.add_option("--report", options->report, "Write the report as JSON to this file too")->option_text("FILE");

  auto& recover_command = command_line.add_command(group, "recover", "End the faults of a run that died; repeating it is harmless",
                                                   [options](CommandContext& context) { return recover(*options, context); });
  recover_command.add_option("journal", options->journal, "Journal of the run")->required();
  recover_command.footer(kFooter);
}

}  // namespace outrigger::cli
