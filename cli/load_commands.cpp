#include "cli/load_commands.h"

#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <ranges>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/manual.h"
#include "lib/load/generator.h"
#include "lib/load/http_target.h"
#include "lib/load/report.h"
#include "lib/runtime/duration.h"
#include "lib/runtime/ids.h"
#include "lib/runtime/lifecycle.h"

namespace outrigger::cli {
namespace {

struct LoadOptions {
  std::string url = "http://127.0.0.1:8080/api/health";
  std::string rate = "100/s";
  std::string duration = "10s";
  std::string staircase;
  std::string arrival = "constant";
  std::uint64_t seed = 1;
  std::string method = "GET";
  std::string body_file;
  std::vector<std::string> headers;
  std::string timeout = "5s";
  std::string hgrm_file;
  unsigned connections = 16;
  std::uint64_t max_requests = 0;
};

struct Job {
  load::LoadSettings settings;
  load::HttpRequest request;
};

/// The value in `result`, stored; or the error, named by its flag.
template <class T>
std::optional<Error> store(const char* flag, Result<T> result, T& into) {
  if (!result) {
    return Error{result.error().code, result.error().message, flag};
  }
  into = std::move(*result);
  return std::nullopt;
}

Result<std::string> read_body(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string body(std::istreambuf_iterator<char>(in), {});
  if (!in) {
    return fail(ErrorCode::kInvalidArgument, "cannot be read: check the path", path);
  }
  return body;
}

Result<Job> read(const LoadOptions& options) {
  Job job;
  std::optional<Error> problem;
  const auto keep = [&](std::optional<Error> found) { problem = problem ? problem : std::move(found); };
  keep(store("--url", load::parse_url(options.url), job.request.url));
  keep(store("--rate", load::parse_rate(options.rate), job.settings.rate));
  keep(store("--duration", parse_duration(options.duration), job.settings.duration));
  if (!options.staircase.empty()) {
    keep(store("--staircase", load::parse_staircase(options.staircase), job.settings.staircase));
  }
  keep(store("--timeout", parse_duration(options.timeout), job.settings.timeout));
  for (const auto& text : options.headers) {
    keep(store("--header", load::parse_header(text), job.request.headers.emplace_back()));
  }
  if (!options.body_file.empty()) {
    keep(store("--body-file", read_body(options.body_file), job.request.body));
  }
  if (problem) {
    return std::unexpected(*problem);
  }
  job.request.method = options.method;
  job.request.timeout = job.settings.timeout;
  job.settings.arrival = options.arrival == "poisson" ? load::Arrival::kPoisson : load::Arrival::kConstant;
  job.settings.seed = options.seed;
  job.settings.connections = options.connections;
  job.settings.max_requests = options.max_requests;
  if (auto valid = load::validate(job.settings); !valid) {
    return std::unexpected(valid.error());
  }
  return job;
}

load::Summary run_until_signal(const Job& job) {
  StopSignal signal;
  std::stop_source stop;
  std::atomic<bool> done = false;
  std::jthread watcher([&] {
    while (!done && !signal.wait_for(std::chrono::milliseconds{100})) {
    }
    stop.request_stop();
  });
  load::Recorder recorder(std::chrono::seconds{1}, job.settings.late_after);
  const auto run_id = make_ulid();
  auto summary = load::run(
      job.settings, [&] { return load::make_http_sender(job.request, run_id); }, recorder, std::chrono::steady_clock::now(), stop.get_token());
  done = true;
  summary.target = job.request.method + " " + job.request.url.origin + job.request.url.target;
  return summary;
}

int run_load(const LoadOptions& options, CommandContext& context) {
  const auto job = read(options);
  if (!job) {
    return context.output.failure(job.error());
  }
  const auto summary = run_until_signal(*job);
  const auto validity = load::judge(summary);
  const auto text = load::to_table(summary, validity);
  context.output.result(nlohmann::ordered_json::parse(load::to_json(summary, validity)), [&] {
    for (const auto line : std::views::split(text, '\n')) {
      context.output.line(std::string_view(line));
    }
  });
  if (!options.hgrm_file.empty()) {
    std::ofstream out(options.hgrm_file);
    out << load::to_hgrm(summary.measured.all.from_intended) << std::flush;
    if (!out) {
      return context.output.failure({ErrorCode::kInvalidArgument, "cannot be written: check the folder", options.hgrm_file});
    }
  }
  if (summary.measured.all.sent > 0 && summary.measured.statuses.empty()) {
    return context.output.failure({ErrorCode::kUnavailable, "no request was answered: is it running?", summary.target});
  }
  return validity.valid() ? exit_code::kOk : exit_code::kFailed;
}

}  // namespace

void add_load_commands(CommandLine& command_line) {
  auto options = std::make_shared<LoadOptions>();
  auto& load = command_line.add_command("load", "Send requests at a rate of their own and measure the answers",
                                        [options](CommandContext& context) { return run_load(*options, context); });
  load.add_option("--url", options->url, "What to call")->capture_default_str();
  auto* rate = load.add_option("--rate", options->rate, "Requests a second (200/s), minute (30/m) or hour (5/h)")->capture_default_str();
  auto* duration = load.add_option("--duration", options->duration, "How long requests start, at most 1h")->capture_default_str();
  load.add_option("--staircase", options->staircase, "Rates one after the other, e.g. 50/s@30s,100/s@30s; instead of --rate and --duration")
      ->excludes(rate)
      ->excludes(duration);
  load.add_option("--arrival", options->arrival, "constant: evenly spread; poisson: independent of one another, as users are")
      ->check(CLI::IsMember({"constant", "poisson"}))
      ->capture_default_str();
  load.add_option("--seed", options->seed, "Of --arrival poisson: the same seed gives the same starts")->capture_default_str();
  load.add_option("--method", options->method, "HTTP method")
      ->check(CLI::IsMember({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}))
      ->capture_default_str();
  load.add_option("--body-file", options->body_file, "File that holds the body of every request")->check(CLI::ExistingFile);
  load.add_option("--header", options->headers, "'Name: value'; may be repeated")->allow_extra_args(false);
  load.add_option("--connections", options->connections, "Connections, each with one request at a time")->capture_default_str();
  load.add_option("--timeout", options->timeout, "Longest wait for an answer")->capture_default_str();
  load.add_option("--max-requests", options->max_requests, "Stop after so many requests; 0: no limit")->capture_default_str();
  load.add_option("--hgrm", options->hgrm_file, "Write the latency distribution to this file, for HdrHistogram's plotting tools");
  explain(load, {.description = "An open loop: requests start when the schedule says so, however slow the answers are. Latency counts from the\n"
                                "moment a request was meant to start, so a target that stalls cannot slow the measurement down; the second\n"
                                "column counts from its actual start. Requests that start more than 10ms late are counted, and so are those\n"
                                "dropped because more than 1024 waited for a connection.\n"
                                "\n"
                                "In the URL, the headers and the body {{sequence}} is the request's number and {{run}} an id of this run.",
                 .exit_status = "0   the load was valid\n"
                                "1   it was not: the reasons are printed\n"
                                "2   wrong flags\n"
                                "69  nobody answered",
                 .examples = "outrigger load --url http://127.0.0.1:8080/v1/orders --method POST --body-file order.json \\\n"
                             "  --header 'Content-Type: application/json' --header 'Idempotency-Key: {{run}}-{{sequence}}' \\\n"
                             "  --rate 50/s --duration 30s --arrival poisson\n"
                             "outrigger load --url http://127.0.0.1:8080/api/health --staircase 100/s@30s,200/s@30s,400/s@30s --hgrm latency.hgrm"});
}

}  // namespace outrigger::cli
