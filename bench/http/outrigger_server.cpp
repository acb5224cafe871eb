// The HTTP engine with one constant answer, for the measurement in run.py. Prints its port, ends on SIGTERM.
#include <cstdio>

#include "lib/http/server.h"
#include "lib/runtime/lifecycle.h"

int main() {
  outrigger::StopSignal stop;
  outrigger::telemetry::Registry registry;
  outrigger::http::Router router;
  router.handle(outrigger::http::Method::kGet, "/api/health", [](const auto&, outrigger::http::Response& response) {
    response.content_type = "application/json";
    response.body = R"({"status":"ok"})";
  });
  outrigger::http::Server server({.name = "bench"}, std::move(router), registry);
  if (const auto started = server.start(); !started) {
    std::fprintf(stderr, "%s\n", started.error().to_string().c_str());
    return 1;
  }
  std::printf("%u\n", static_cast<unsigned>(server.port()));
  std::fflush(stdout);
  stop.wait();
  server.drain(std::chrono::steady_clock::now() + std::chrono::seconds{1});
}
