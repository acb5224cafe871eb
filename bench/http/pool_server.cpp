// The same handler as cpp_httplib_server.cpp, on the pool of the adapter, for the measurement in run.py.
#include "bench/http/serve_httplib.h"
#include "lib/http/cpp_httplib/server.h"

int main() {
  outrigger::StopSignal stop;
  // Nobody is to be refused: the queue takes every connection of the largest run.
  outrigger::http::cpp_httplib::Server server({.server = {.name = "bench"}, .handler_queue = 4'096});
  return outrigger::bench::serve_httplib(server, stop);
}
