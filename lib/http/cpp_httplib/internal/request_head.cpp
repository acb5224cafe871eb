#include "lib/http/cpp_httplib/internal/request_head.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace outrigger::http::cpp_httplib::internal {
namespace {

constexpr std::array<std::string_view, 4> kServersOwn{"REMOTE_ADDR", "REMOTE_PORT", "LOCAL_ADDR", "LOCAL_PORT"};

}  // namespace

void fill_head(httplib::Request& to, const Request& from, const LocalEnd& local) {
  to.method = name(from.method);
  to.target = from.target;
  to.path = from.path;
  to.version = "HTTP/1.1";
  for (const auto& [field, value] : from.headers) {
    if (std::ranges::none_of(kServersOwn, [&field](std::string_view own) { return equal_ignoring_case(own, field); })) {
      to.headers.emplace(field, value);
    }
  }
  httplib::detail::parse_query_text(from.query, to.params);

  const std::string_view peer = from.peer_address;
  const auto colon = peer.rfind(':');
  auto address = peer.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  to.remote_addr = address;
  if (colon != std::string_view::npos) {
    std::from_chars(peer.data() + colon + 1, peer.data() + peer.size(), to.remote_port);
  }
  to.local_addr = local.address;
  to.local_port = local.port;
  to.headers.emplace("REMOTE_ADDR", to.remote_addr);
  to.headers.emplace("REMOTE_PORT", std::to_string(to.remote_port));
  to.headers.emplace("LOCAL_ADDR", to.local_addr);
  to.headers.emplace("LOCAL_PORT", std::to_string(to.local_port));
}

}  // namespace outrigger::http::cpp_httplib::internal
