#include "chaos/drivers/http_probe.h"

#include <httplib.h>

#include <format>

namespace outrigger::chaos {

Result<void> check_probe(const Probe& probe) {
  const auto url = probe.url.origin + probe.url.target;
  try {
    httplib::Client client(probe.url.origin);
    const auto timeout = std::chrono::duration_cast<std::chrono::microseconds>(probe.timeout);
    client.set_connection_timeout(timeout);
    client.set_read_timeout(timeout);
    client.set_write_timeout(timeout);
    client.set_follow_location(false);
    client.set_url_encode(false);
    // The client's own timeouts start again with every byte; this one does not.
    const auto deadline = std::chrono::steady_clock::now() + probe.timeout;
    const auto answer = client.Get(probe.url.target, [&](std::uint64_t, std::uint64_t) { return std::chrono::steady_clock::now() < deadline; });
    if (!answer) {
      return fail(ErrorCode::kUnavailable, std::format("no answer: {}", httplib::to_string(answer.error())), url);
    }
    if (answer->status != probe.status) {
      return fail(ErrorCode::kFailedPrecondition, std::format("answered {}, expected {}", answer->status, probe.status), url);
    }
    return {};
  } catch (const std::exception& problem) {
    return fail(ErrorCode::kUnavailable, problem.what(), url);
  }
}

}  // namespace outrigger::chaos
