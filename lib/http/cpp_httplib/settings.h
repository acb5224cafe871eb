#pragma once

#include <chrono>
#include <cstddef>

#include "lib/http/server.h"

namespace outrigger::http::cpp_httplib {

/// Every bound of the adapter. Each limit that is reached counts in `outrigger_http_limit_reached_total{listener,limit}`.
struct Settings {
  ServerSettings server{};           ///< the engine's; address and port come from listen() or bind_to_…()
  std::size_t handler_threads = 0;   ///< 0: 8, or one less than the CPUs where that is more, as stock cpp-httplib
  std::size_t handler_queue = 512;   ///< requests that wait for one of them; beyond that the answer is 503 with Retry-After
  std::size_t provider_threads = 8;  ///< content providers that run at once; each holds a thread as long as its client reads
  std::size_t provider_queue = 64;   ///< answers that wait for one of them; beyond that 503 with Retry-After
  std::chrono::seconds retry_after{1};
  std::chrono::seconds drain{10};          ///< stop() waits so long for requests in flight
  std::size_t max_form_bytes = 8U << 10U;  ///< of an application/x-www-form-urlencoded body
  std::size_t max_multipart_parts = 1'024;
  std::size_t max_multipart_part_head_bytes = 8U << 10U;
};

}  // namespace outrigger::http::cpp_httplib
