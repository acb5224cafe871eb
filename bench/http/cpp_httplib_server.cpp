// Stock cpp-httplib with the same constant answer, as its README shows it. Prints its port, ends on SIGTERM.
#include <httplib.h>

#include <cstdio>
#include <thread>

#include "lib/runtime/lifecycle.h"

int main() {
  outrigger::StopSignal stop;
  httplib::Server server;
  // One thread a connection is its model: enough for the largest run, so that it is measured and not its queue.
  server.new_task_queue = [] { return new httplib::ThreadPool(600); };
  server.set_keep_alive_max_count(1'000'000);
  server.set_tcp_nodelay(true);
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
