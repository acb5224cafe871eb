#include <chrono>
#include <format>
#include <memory>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/manual.h"
#include "cli/saga_group.h"
#include "cli/saga_view.h"
#include "cli/service_client.h"
#include "lib/runtime/duration.h"

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

struct WatchOptions {
  std::string url = kDefaultServiceUrl;
  std::string id;
  std::string timeout = "10m";
  std::string expect;
};

/// The saga, once it has a version beyond `after_version` or the server's wait ended. Outages are waited out until the deadline:
/// a service that restarts finishes its sagas.
Result<Json> next_version(ServiceClient& client, const WatchOptions& options, std::optional<std::int64_t> after_version, Clock::time_point deadline,
                          Output& output) {
  constexpr seconds kServerWait{10};
  constexpr milliseconds kPause{500};
  bool has_told = false;
  for (;;) {
    const std::string path = "/v1/sagas/" + percent_encode(options.id) +
                             (after_version ? std::format("?after_version={}&wait={}s", *after_version, kServerWait.count()) : "");
    const auto asked = Clock::now();
    auto saga = client.get(path, kServerWait + seconds{5});
    const bool is_outage = !saga && (saga.error().code == ErrorCode::kUnavailable || saga.error().code == ErrorCode::kResourceExhausted);
    if (!is_outage || !after_version || Clock::now() >= deadline) {
      if (saga && after_version && saga->value("version", std::int64_t{0}) == *after_version && Clock::now() - asked < kPause) {
        std::this_thread::sleep_for(kPause);  // a server that does not wait is not asked in a tight loop
      }
      return saga;
    }
    if (!has_told) {
      output.note(std::format("{}; still trying", saga.error().to_string()));
      has_told = true;
    }
    std::this_thread::sleep_for(kPause);
  }
}

int watch(const WatchOptions& options, CommandContext& context) {
  auto client = ServiceClient::make(options.url);
  const auto timeout = parse_duration(options.timeout);
  if (!client || !timeout) {
    return context.output.failure(!client ? client.error() : Error{timeout.error().code, timeout.error().message, "--timeout"});
  }
  const auto deadline = Clock::now() + *timeout;
  std::optional<std::int64_t> version;
  std::size_t shown = 0;
  for (;;) {
    const auto saga = next_version(*client, options, version, deadline, context.output);
    if (!saga) {
      return context.output.failure(saga.error());
    }
    if (const auto now = saga->value("version", std::int64_t{0}); now != version) {
      context.output.event(*saga, [&] {
        for (const auto& row : saga_timeline(*saga, shown).rows) {
          context.output.line(std::format("{}  {:<24}  {:<20}  {}", row[0].text, row[1].text, row[2].text, row[3].text));
        }
        shown = saga->value("history", Json::array()).size();
      });
      version = now;
    }
    if (is_at_rest(*saga)) {
      const Cell status = saga_status(*saga);
      if (context.output.format() == OutputFormat::kTable) {
        context.output.line(status.text, status.tone);
      }
      if (!options.expect.empty() && status.text != options.expect) {
        return context.output.failure(
            {ErrorCode::kFailedPrecondition, std::format("ended as {}, expected {}", status.text, options.expect), options.id});
      }
      return status.text == "STUCK" && options.expect.empty() ? exit_code::kFailed : exit_code::kOk;
    }
    if (Clock::now() >= deadline) {
      return context.output.failure(
          {ErrorCode::kDeadlineExceeded, std::format("still {} after {}", text_of(*saga, "status"), options.timeout), options.id});
    }
  }
}

}  // namespace

void add_saga_watch(const SagaGroup& group) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App& command = group.add("watch", "Print what happens to a saga until it ends", options->url,
                                [options](CommandContext& context) { return watch(*options, context); });
  command.add_option("SAGA", options->id, "Id of the saga")->required();
  command.add_option("--timeout", options->timeout, "Longest wait for the end")->capture_default_str();
  command.add_option("--expect", options->expect, "Fail unless it ends so")->check(CLI::IsMember(saga_statuses()));
  explain(command, {.description = "Outages of the service are waited out: one that restarts finishes its sagas. With --output json each version\n"
                                   "of the saga is one line.",
                    .exit_status = "0   it ended, and as expected\n"
                                   "1   it is STUCK, did not end in time, or ended otherwise\n"
                                   "2   wrong flags\n"
                                   "69  nobody answers",
                    .examples = "outrigger saga watch p3-01JE… --expect COMPLETED --timeout 1m"});
}

}  // namespace outrigger::cli
