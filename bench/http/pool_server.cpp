// The same handler as cpp_httplib_server.cpp, on the pool of the adapter, for the measurement in run.py. Prints its port, ends on SIGTERM.
#include <cstdio>
#include <thread>

#include "lib/http/cpp_httplib/server.h"
#include "lib/runtime/lifecycle.h"

int main() {
  outrigger::StopSignal stop;
  // Nobody is to be refused: the queue takes every connection of the largest run.
  outrigger::http::cpp_httplib::Server server({.server = {.name = "bench"}, .handler_queue = 4'096});
  server.Get("/api/health",
             [](const httplib::Request&, httplib::Response& response) { response.set_content(R"({"status":"ok"})", "application/json"); });
  const int port = server.bind_to_any_port("127.0.0.1");
  if (port <= 0) {
    return 1;
  }
  std::thread listener([&] { server.listen_after_bind(); });
  std::printf("%d\n", port);
  std::fflush(stdout);
  stop.wait();
  server.stop();
  listener.join();
}
