#include "sidecar/gateway/headers.h"

#include <algorithm>
#include <array>
#include <format>

namespace outrigger::gateway {
namespace {

constexpr std::array<std::string_view, 8> kHopByHop{"connection", "keep-alive", "proxy-connection",  "proxy-authenticate",
                                                    "te",         "trailer",    "transfer-encoding", "upgrade"};

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool contains(const auto& names, std::string_view name) {
  return std::ranges::any_of(names, [name](std::string_view known) { return http::equal_ignoring_case(known, name); });
}

std::string* value_of(Headers& headers, std::string_view name) {
  const auto found = std::ranges::find_if(headers, [name](const auto& header) { return http::equal_ignoring_case(header.first, name); });
  return found == headers.end() ? nullptr : &found->second;
}

void remove_field(Headers& headers, std::string_view name) {
  std::erase_if(headers, [name](const auto& header) { return http::equal_ignoring_case(header.first, name); });
}

/// "127.0.0.1" of "127.0.0.1:43210"; an IPv6 address keeps no brackets, as X-Forwarded-For is written.
std::string_view host_of(std::string_view peer) {
  peer = peer.substr(0, peer.rfind(':'));
  return peer.starts_with('[') ? peer.substr(1, peer.size() - 2) : peer;
}

/// Appends to the last field of a list, which may be spread over several.
void append_to_list(Headers& headers, std::string_view name, std::string_view value) {
  const auto last =
      std::find_if(headers.rbegin(), headers.rend(), [name](const auto& header) { return http::equal_ignoring_case(header.first, name); });
  if (last == headers.rend()) {
    headers.emplace_back(name, value);
  } else {
    last->second += last->second.empty() ? "" : ", ";
    last->second += value;
  }
}

}  // namespace

void remove_hop_by_hop(Headers& headers) {
  std::vector<std::string> named;
  for (const auto& [name, value] : headers) {
    if (http::equal_ignoring_case(name, "connection")) {
      std::string_view left = value;
      while (!left.empty()) {
        const auto option = left.substr(0, left.find(','));
        left.remove_prefix(std::min(left.size(), option.size() + 1));
        if (!http::equal_ignoring_case(trim(option), "host")) {
          named.emplace_back(trim(option));
        }
      }
    }
  }
  std::erase_if(headers, [&named](const auto& header) { return contains(kHopByHop, header.first) || contains(named, header.first); });
}

Headers headers_for_upstream(const http::Request& request, std::string_view via, std::string_view traceparent, bool continues_trace) {
  auto headers = request.headers;
  remove_hop_by_hop(headers);
  // The client of the application writes the length itself, and 100-continue was answered here.
  remove_field(headers, "content-length");
  remove_field(headers, "expect");
  const auto target = target_for_upstream(request.target);
  auto* host = value_of(headers, "host");
  if (host == nullptr) {
    // HTTP/1.0 needs none; HTTP/1.1, which the application is spoken to in, does.
    host = &headers.emplace_back("Host", "localhost").second;
  }
  if (!target.authority.empty()) {
    *host = target.authority;
  }
  const auto original_host = *host;
  append_to_list(headers, "X-Forwarded-For", host_of(request.peer_address));
  if (value_of(headers, "x-forwarded-proto") == nullptr) {
    headers.emplace_back("X-Forwarded-Proto", "http");
  }
  if (value_of(headers, "x-forwarded-host") == nullptr) {
    headers.emplace_back("X-Forwarded-Host", original_host);
  }
  append_to_list(headers, "Via", std::format("1.1 {}", via));
  remove_field(headers, "traceparent");
  headers.emplace_back("traceparent", traceparent);
  if (!continues_trace) {
    remove_field(headers, "tracestate");
  }
  return headers;
}

Target target_for_upstream(std::string_view target) {
  const auto scheme = target.starts_with('/') ? std::string_view::npos : target.find("://");
  if (scheme == std::string_view::npos) {
    return {std::string(target), {}};
  }
  const auto authority = target.substr(scheme + 3, target.find_first_of("/?", scheme + 3) - scheme - 3);
  auto rest = target.substr(scheme + 3 + authority.size());
  return {rest.starts_with('/') ? std::string(rest) : std::format("/{}", rest), std::string(authority)};
}

}  // namespace outrigger::gateway
