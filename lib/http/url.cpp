#include "lib/http/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <format>

#include "lib/http/message.h"

namespace outrigger::http {
namespace {

constexpr std::size_t kMaxBytes = 2'048;
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool is_address(int family, const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

bool is_label(std::string_view label) {
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= kMaxLabel && label.front() != '-' && label.back() != '-' && std::ranges::all_of(label, allowed);
}

bool is_name(std::string_view host) {
  if (host.size() > kMaxName) {
    return false;
  }
  std::string_view last;
  while (true) {
    const auto dot = host.find('.');
    last = host.substr(0, dot);
    if (!is_label(last)) {
      return false;
    }
    if (dot == std::string_view::npos) {
      break;
    }
    host.remove_prefix(dot + 1);
  }
  return !std::ranges::all_of(last, is_digit);  // else it would be an address, and readers differ in which
}

/// RFC 3986, 3.3 and 3.4: pchar, "/" and "?", every escape complete.
bool is_target(std::string_view target) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    const char c = target[i];
    if (c == '%') {
      if (i + 2 >= target.size() || !is_hex(target[i + 1]) || !is_hex(target[i + 2])) {
        return false;
      }
      i += 2;
    } else if (!is_letter(c) && !is_digit(c) && std::string_view("-._~!$&'()*+,;=:@/?").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

std::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, std::format("'{}' is no URL that can be called: {}", text.substr(0, kMaxBytes), why));
}

}  // namespace

std::string Url::authority() const { return host.contains(':') ? std::format("[{}]:{}", host, port) : std::format("{}:{}", host, port); }

Result<Url> parse_url(std::string_view text) {
  const auto has_scheme = [&](std::string_view scheme) {
    return text.size() >= scheme.size() && equal_ignoring_case(text.substr(0, scheme.size()), scheme);
  };
  if (text.size() > kMaxBytes) {
    return refuse("…", std::format("it is longer than {} bytes", kMaxBytes));
  }
  if (has_scheme("https://")) {
    return fail(ErrorCode::kUnimplemented,
                std::format("'{}': https is not supported by this release; use http:// to a TLS proxy on this host or in this pod", text));
  }
  if (!has_scheme("http://")) {
    return refuse(text, "it must begin with http://");
  }
  const auto rest = text.substr(std::string_view("http://").size());
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  auto authority = rest.substr(0, end);
  const auto target = rest.substr(end);
  if (authority.contains('@')) {
    return refuse(text.substr(0, text.find("//") + 2), "user and password cannot stand in it");
  }
  Url url;
  const bool has_brackets = authority.starts_with('[');
  const auto host_end = has_brackets ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (host_end == std::string_view::npos) {
    return refuse(text, "the bracket of its IPv6 address is not closed");
  }
  url.host = authority.substr(has_brackets ? 1 : 0, host_end - (has_brackets ? 1 : 0));
  authority.remove_prefix(host_end + (has_brackets ? 1 : 0));
  const bool is_valid_host = has_brackets ? is_address(AF_INET6, url.host) : is_address(AF_INET, url.host) || is_name(url.host);
  if (!is_valid_host) {
    return refuse(text, "its host is neither a name nor an address");
  }
  std::ranges::transform(url.host, url.host.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (!authority.empty()) {
    const auto digits = authority.substr(1);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (authority.front() != ':' || error != std::errc{} || stop != digits.data() + digits.size() || url.port == 0) {
      return refuse(text, "its port is no number from 1 to 65535");
    }
  }
  if (target.contains('#')) {
    return refuse(text, "a fragment (#…) is never sent; remove it");
  }
  if (!is_target(target)) {
    return refuse(text, "its path or query holds a character that must be percent-encoded, or an incomplete escape");
  }
  url.target = target.starts_with('/') ? std::string(target) : std::format("/{}", target);
  return url;
}

Result<Url> follow(const Url& base, std::string_view location) {
  const bool is_path = location.starts_with('/') && !location.starts_with("//");
  auto url = parse_url(is_path ? std::format("http://{}{}", base.authority(), location) : std::string(location));
  if (url && (url->host != base.host || url->port != base.port)) {
    return fail(ErrorCode::kPermissionDenied, std::format("it leads to {}, away from {}", url->authority(), base.authority()));
  }
  return url;
}

}  // namespace outrigger::http
