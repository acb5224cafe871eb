#pragma once

#include <httplib.h>

#include <cstdio>
#include <thread>

#include "lib/runtime/lifecycle.h"

namespace outrigger::bench {

/// The constant answer on a server with cpp-httplib's interface, stock or ours. Prints its port, ends on SIGTERM. Returns the exit code.
template <class Server>
int serve_httplib(Server& server, StopSignal& stop) {
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
  return 0;
}

}  // namespace outrigger::bench
