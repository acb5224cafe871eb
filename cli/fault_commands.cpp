#include "cli/fault_commands.h"

#include <chrono>
#include <format>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/fault_client.h"
#include "cli/fault_file.h"
#include "lib/runtime/duration.h"
#include "outrigger/sidecar/admin/v1/fault.pb.h"

namespace outrigger::cli {
namespace {

namespace api = ::outrigger::sidecar::admin::v1;
using Json = nlohmann::ordered_json;

struct FaultOptions {
  std::string admin = "unix:///run/outrigger/admin.sock";
  std::string deadline = "5s";
  std::string reason;
  // apply
  std::string file;
  std::string id;
  std::string ttl;
  std::string method;
  std::string path_prefix;
  std::vector<std::string> headers;
  std::string percent;
  std::uint64_t seed = 0;
  std::string delay;
  std::string jitter;
  std::uint32_t abort = 0;
  bool validate_only = false;
  // delete
  std::vector<std::string> ids;
  bool all = false;
};

Result<std::chrono::nanoseconds> duration_of(const char* flag, const std::string& text) {
  auto duration = parse_duration(text);
  return duration ? duration : fail(duration.error().code, duration.error().message, flag);
}

Result<void> set_duration(const char* flag, const std::string& text, google::protobuf::Duration& to) {
  const auto duration = duration_of(flag, text);
  if (!duration) {
    return std::unexpected(duration.error());
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*duration);
  to.set_seconds(seconds.count());
  to.set_nanos(static_cast<std::int32_t>((*duration - seconds).count()));
  return {};
}

/// The fault that the flags describe.
Result<api::Fault> fault_of(const FaultOptions& options) {
  if (options.id.empty() || options.ttl.empty() || (options.delay.empty() && options.jitter.empty()) == (options.abort == 0)) {
    return fail(ErrorCode::kInvalidArgument,
                "give a FILE, or --id, --ttl and one of --delay and --abort, e.g. --id slow --ttl 1m --delay 300ms --path-prefix /v1/orders");
  }
  api::Fault fault;
  fault.set_id(options.id);
  fault.set_reason(options.reason);
  if (auto ttl = set_duration("--ttl", options.ttl, *fault.mutable_ttl()); !ttl) {
    return std::unexpected(ttl.error());
  }
  auto& http = *fault.mutable_match()->mutable_http();
  http.set_method(options.method);
  http.set_path_prefix(options.path_prefix);
  for (const std::string& header : options.headers) {
    const auto colon = header.find(':');
    if (colon == std::string::npos || colon == 0) {
      return fail(ErrorCode::kInvalidArgument, std::format("'{}' is no header: write 'Name: value'", header), "--header");
    }
    const auto value = header.find_first_not_of(' ', colon + 1);
    (*http.mutable_headers())[header.substr(0, colon)] = value == std::string::npos ? "" : header.substr(value);
  }
  if (!options.percent.empty()) {
    const auto percent = parse_percent(options.percent);
    if (!percent) {
      return fail(percent.error().code, percent.error().message, "--percent");
    }
    fault.mutable_trigger()->set_percent_ppm(*percent);
  }
  fault.mutable_trigger()->set_seed(options.seed);
  if (options.abort != 0) {
    fault.mutable_abort()->set_status(options.abort);
    return fault;
  }
  auto good = set_duration("--delay", options.delay.empty() ? "0" : options.delay, *fault.mutable_delay()->mutable_fixed());
  if (good && !options.jitter.empty()) {
    good = set_duration("--jitter", options.jitter, *fault.mutable_delay()->mutable_jitter());
  }
  if (!good) {
    return std::unexpected(good.error());
  }
  return fault;
}

Result<std::vector<api::Fault>> wanted(const FaultOptions& options, std::istream& standard_input) {
  if (!options.file.empty() &&
      (!options.id.empty() || !options.ttl.empty() || !options.delay.empty() || !options.jitter.empty() || options.abort != 0)) {
    return fail(ErrorCode::kInvalidArgument, "a FILE and flags that describe a fault: keep one of them");
  }
  if (options.file.empty()) {
    auto fault = fault_of(options);
    return fault ? Result<std::vector<api::Fault>>(std::vector{std::move(*fault)}) : std::unexpected(fault.error());
  }
  if (options.file == "-") {
    return read_faults(std::string(std::istreambuf_iterator<char>(standard_input), {}), "standard input");
  }
  std::ifstream in(options.file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) {
    return fail(ErrorCode::kInvalidArgument, "cannot be read: check the path, or use - for standard input", options.file);
  }
  return read_faults(text, options.file);
}

std::string duration_text(const google::protobuf::Duration& duration) {
  return format_duration(std::chrono::seconds{duration.seconds()} + std::chrono::nanoseconds{duration.nanos()});
}

std::string action_text(const api::Fault& fault) {
  if (fault.has_abort()) {
    return std::format("abort {}", fault.abort().status());
  }
  return std::format("delay {}{}", duration_text(fault.delay().fixed()),
                     fault.delay().has_jitter() ? " + 0.." + duration_text(fault.delay().jitter()) : "");
}

std::string match_text(const api::Fault& fault) {
  const auto& http = fault.match().http();
  std::string text = std::format("{} {}", http.method().empty() ? "*" : http.method(), http.path_prefix().empty() ? "/" : http.path_prefix());
  for (const auto& [name, value] : http.headers()) {
    text += std::format(" {}={}", name, value);
  }
  return text;
}

std::string remaining(const api::Fault& fault) {
  const auto end = std::chrono::sys_time<std::chrono::nanoseconds>{std::chrono::seconds{fault.expire_time().seconds()} +
                                                                   std::chrono::nanoseconds{fault.expire_time().nanos()}};
  const auto left = std::chrono::floor<std::chrono::seconds>(end - std::chrono::system_clock::now());
  return format_duration(std::max(left, std::chrono::seconds{0}));
}

void show(const std::vector<api::Fault>& faults, Output& output) {
  Json list = Json::array();
  for (const auto& fault : faults) {
    list.push_back(to_json(fault));
  }
  output.result(Json{{"faults", list}}, [&] {
    Table table{.columns = {"FAULT", "ACTION", "MATCH", "PERCENT", "HITS", "SKIPPED", "ENDS IN", "REASON"}, .rows = {}};
    for (const auto& fault : faults) {
      table.rows.push_back({{fault.id(), Tone::kWarning},
                            action_text(fault),
                            match_text(fault),
                            std::format("{}", fault.trigger().percent_ppm() / 10'000.0),
                            std::to_string(fault.hits()),
                            std::to_string(fault.skipped()),
                            remaining(fault),
                            fault.reason()});
    }
    output.table(table);
  });
}

Result<std::unique_ptr<FaultClient>> connect(const FaultOptions& options) {
  const auto deadline = duration_of("--deadline", options.deadline);
  if (!deadline) {
    return std::unexpected(deadline.error());
  }
  return std::make_unique<FaultClient>(options.admin, std::chrono::ceil<std::chrono::milliseconds>(*deadline));
}

int apply(const FaultOptions& options, CommandContext& context) {
  const auto faults = wanted(options, context.in);
  const auto client = connect(options);
  if (!faults || !client) {
    return context.output.failure(faults ? client.error() : faults.error());
  }
  std::vector<api::Fault> applied;
  for (const auto& fault : *faults) {
    auto created = (*client)->create(fault, options.validate_only);
    if (!created) {
      Error error = created.error();
      if (error.code != ErrorCode::kUnavailable) {
        error.context = options.file.empty() ? fault.id() : std::format("{}: {}", options.file == "-" ? "standard input" : options.file, fault.id());
      }
      return context.output.failure(error);
    }
    applied.push_back(std::move(*created));
  }
  show(applied, context.output);
  if (options.validate_only) {
    context.output.note("valid; nothing was armed");
  }
  return exit_code::kOk;
}

int list(const FaultOptions& options, CommandContext& context) {
  const auto client = connect(options);
  if (!client) {
    return context.output.failure(client.error());
  }
  const auto faults = (*client)->list();
  if (!faults) {
    return context.output.failure(faults.error());
  }
  show(*faults, context.output);
  return exit_code::kOk;
}

int remove(const FaultOptions& options, CommandContext& context) {
  const auto client = connect(options);
  if (!client || options.ids.empty() != options.all) {
    return context.output.failure(!client ? client.error() : Error{ErrorCode::kInvalidArgument, "name the faults to end, or give --all", {}});
  }
  std::vector<std::string> ids = options.ids;
  if (options.all) {
    const auto faults = (*client)->list();
    if (!faults) {
      return context.output.failure(faults.error());
    }
    for (const auto& fault : *faults) {
      ids.push_back(fault.id());
    }
  }
  int status = exit_code::kOk;
  std::vector<api::Fault> ended;
  for (const std::string& id : ids) {
    auto last = (*client)->remove(id, options.reason);
    if (last) {
      ended.push_back(std::move(*last));
    } else if (!options.all || last.error().code != ErrorCode::kNotFound) {  // with --all one that just ended by itself is as wanted
      status = context.output.failure(last.error());
    }
  }
  show(ended, context.output);
  return status;
}

}  // namespace

void add_fault_commands(CommandLine& command_line) {
  CLI::App& group = command_line.add_group("fault", "Inject faults into what passes a sidecar");
  auto options = std::make_shared<FaultOptions>();
  const auto add = [&](const char* name, const char* description, int (*run)(const FaultOptions&, CommandContext&)) -> CLI::App& {
    CLI::App& command =
        command_line.add_command(group, name, description, [options, run](CommandContext& context) { return run(*options, context); });
    command.add_option("--admin", options->admin, "The sidecar's admin API: unix:///path, a socket's path, or host:port")
        ->envname("OUTRIGGER_ADMIN")
        ->capture_default_str();
    command.add_option("--deadline", options->deadline, "Longest wait for each answer")->capture_default_str();
    return command;
  };

  CLI::App& applying = add("apply", "Arm faults from a YAML file, or one from flags", apply);
  applying.add_option("FILE", options->file, "YAML file with one fault a document, - for standard input");
  applying.add_flag("--validate-only", options->validate_only, "Let the sidecar check them and arm nothing");
  const auto flag = [&](const char* name, auto& value, const char* help) {
    return applying.add_option(name, value, help)->group("Instead of a FILE");
  };
  flag("--id", options->id, "Name of the fault; applying the same again changes nothing");
  flag("--ttl", options->ttl, "How long until it ends by itself, e.g. 2m");
  flag("--delay", options->delay, "Wait so long, e.g. 300ms");
  flag("--jitter", options->jitter, "Wait up to so much longer");
  flag("--abort", options->abort, "Answer with this status instead, 400 to 599")->check(CLI::Range(400, 599));
  flag("--method", options->method, "Only requests with this method")
      ->check(CLI::IsMember({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}));
  flag("--path-prefix", options->path_prefix, "Only requests under this path, by whole segments");
  flag("--header", options->headers, "Only requests with this header, 'Name: value'; may be repeated")->allow_extra_args(false);
  flag("--percent", options->percent, "Share of the matching requests, e.g. 25 or 0.5 [100]");
  flag("--seed", options->seed, "Another seed chooses other requests");
  flag("--reason", options->reason, "Why, for the audit log");
  applying.footer(
      "A file:\n"
      "    id: slow-orders\n"
      "    ttl: 2m\n"
      "    match: {http: {method: POST, pathPrefix: /v1/orders}}\n"
      "    trigger: {percent: 25, seed: 42}\n"
      "    action: {delay: {fixed: 300ms, jitter: 50ms}}      # or {abort: {status: 503}}\n"
      "Example: outrigger fault apply --id slow --ttl 1m --delay 300ms --path-prefix /v1/orders");

  add("list", "The faults that are armed", list);

  CLI::App& removing = add("delete", "End faults before their time", remove);
  removing.add_option("FAULT", options->ids, "Ids of the faults");
  removing.add_flag("--all", options->all, "All of them");
  removing.add_option("--reason", options->reason, "Why, for the audit log");
}

}  // namespace outrigger::cli
