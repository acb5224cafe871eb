#include "sidecar/program/settings.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <format>

#include "lib/config/settings.h"
#include "lib/runtime/lifecycle.h"

namespace outrigger::sidecar {
namespace {

using namespace std::chrono_literals;

void declare(config::Settings& keys, SidecarSettings& settings) {
  keys.text("http-address", settings.http_address, "Address that clients of the service reach");
  keys.port("http-port", settings.http_port, "Port that clients of the service reach; 0: any free one, see --port-file");
  keys.text("upstream", settings.upstream, "The service, ADDRESS:PORT");
  keys.number<std::size_t>("upstream-connections", settings.upstream_connections, 1, 65'536, "Connections to the service at once");
  keys.duration("upstream-stall", settings.upstream_stall, 100ms, 3'600'000ms, "Longest silence in the midst of an answer of the service");
  keys.number<std::size_t>("upstream-waiting", settings.upstream_waiting, 0, 1'000'000, "Requests that may wait for one of them");
  keys.duration("request-timeout", settings.request_timeout, 1ms, 3'600'000ms,
                "For the service's whole answer, an injected delay included; longer than the longest ?wait= it offers");
  keys.text("health-address", settings.health_address, "Address of /livez, /readyz and /metrics");
  keys.port("health-port", settings.health_port, "Port of /livez, /readyz and /metrics");
  keys.path("admin-socket", settings.admin_socket, "Unix socket of the gRPC admin API; only its owner may open it");
  keys.path("port-file", settings.port_file, "Where to write the bound ports as JSON once the sidecar is ready");
  keys.number("http-loops", settings.http_loops, 0U, 256U, "Event loops of the proxy; 0: one per CPU");
  keys.number<std::size_t>("max-connections", settings.max_connections, 1, 1'000'000, "Client connections at once");
  keys.number<std::size_t>("max-body-bytes", settings.max_body_bytes, 1'024, 64U << 20U, "Largest request or answer body");

  keys.flag("faults-enabled", settings.faults_enabled, "Let the admin API inject faults");
  keys.number<std::size_t>("max-faults", settings.max_faults, 1, 256, "Faults that are armed at once");
  keys.duration("max-fault-ttl", settings.max_fault_ttl, 1'000ms, 3'600'000ms, "Longest time to live of a fault");
  keys.duration("max-fault-delay", settings.max_fault_delay, 1ms, 600'000ms, "Longest delay of a fault, jitter included");

  keys.duration("drain-delay", settings.drain_delay, 0ms, 300'000ms, "After SIGTERM: keep serving so long, not ready, until traffic goes elsewhere");
  keys.duration("drain-timeout", settings.drain_timeout, 0ms, 3'600'000ms, "After that: wait so long for requests in flight");
  keys.choice("log-level", settings.log_level, {"debug", "info", "warning", "error"}, "Least level that is logged, as JSON to standard error");
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument, std::format("'{:.80}' is no ADDRESS:PORT: write 127.0.0.1:8000 or [::1]:8000", text));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return wrong();
  }
  std::string address(text.substr(0, colon));
  const auto digits = text.substr(colon + 1);
  Endpoint endpoint;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc{} || end != digits.data() + digits.size() || endpoint.port == 0) {
    return wrong();
  }
  const bool is_bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (is_bracketed) {
    address = address.substr(1, address.size() - 2);
  } else if (address == "localhost") {
    address = "127.0.0.1";
  }
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (inet_pton(is_bracketed ? AF_INET6 : AF_INET, address.c_str(), bytes.data()) != 1) {
    return wrong();
  }
  endpoint.address = std::move(address);
  return endpoint;
}

std::optional<int> read_settings(SidecarSettings& settings, int argc, const char* const* argv) {
  config::Settings keys("outrigger-sidecar",
                        "Reverse proxy beside a service: health, metrics, fault injection, gRPC admin.\nSIGUSR2 disarms every fault.",
                        OUTRIGGER_VERSION);
  declare(keys, settings);
  if (const auto code = keys.read(argc, argv)) {
    return code;
  }
  if (const auto upstream = parse_endpoint(settings.upstream); !upstream) {
    std::fprintf(stderr, "outrigger-sidecar: upstream: %s\n", upstream.error().message.c_str());
    return exit_code::kBadConfiguration;
  }
  return std::nullopt;
}

}  // namespace outrigger::sidecar
