#include <chrono>
#include <cstdio>
#include <stop_token>

#include "lib/load/http_target.h"
#include "lib/load/report.h"
#include "lib/runtime/duration.h"
#include "lib/runtime/ids.h"

// bench_saga_load URL RATE DURATION CONNECTIONS: open-loop orders, each a new one, as `outrigger load` sends them; prints its JSON.
// A program of its own so that the benchmark needs nothing of the command line's.

using namespace outrigger;

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: bench_saga_load URL RATE DURATION CONNECTIONS\n", stderr);
    return 2;
  }
  const auto url = load::parse_url(argv[1]);
  const auto rate = load::parse_rate(argv[2]);
  const auto duration = parse_duration(argv[3]);
  if (!url || !rate || !duration) {
    std::fputs("bench_saga_load: an argument cannot be read\n", stderr);
    return 2;
  }
  const load::HttpRequest request{
      .method = "POST",
      .url = *url,
      .headers = {{"Idempotency-Key", "{{run}}-{{sequence}}"}, {"Content-Type", "application/json"}},
      .body =
          R"({"order_id":"{{run}}-{{sequence}}","customer_id":"C-{{sequence}}","country":"DE","lines":[{"sku":"PADDLE","quantity":1,"unit_price_cents":100}]})",
      .timeout = std::chrono::seconds(10)};
  load::LoadSettings settings;
  settings.rate = *rate;
  settings.duration = *duration;
  settings.connections = static_cast<unsigned>(std::atoi(argv[4]));
  settings.timeout = request.timeout;
  if (const auto valid = load::validate(settings); !valid) {
    std::fprintf(stderr, "bench_saga_load: %s\n", valid.error().message.c_str());
    return 2;
  }
  load::Recorder recorder(std::chrono::seconds(1), settings.late_after);
  const auto run_id = make_ulid();
  const auto summary =
      load::run(settings, [&] { return load::make_http_sender(request, run_id); }, recorder, std::chrono::steady_clock::now(), std::stop_token());
  std::fputs(load::to_json(summary, load::judge(summary)).c_str(), stdout);
  return 0;
}
