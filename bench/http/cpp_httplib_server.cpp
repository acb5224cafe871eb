// Stock cpp-httplib with the same constant answer, as its README shows it.
#include "bench/http/serve_httplib.h"

int main() {
  outrigger::StopSignal stop;
  httplib::Server server;
  // One thread a connection is its model: enough for the largest run, so that it is measured and not its queue.
  server.new_task_queue = [] { return new httplib::ThreadPool(600); };
  server.set_keep_alive_max_count(1'000'000);
  server.set_tcp_nodelay(true);
  return outrigger::bench::serve_httplib(server, stop);
}
