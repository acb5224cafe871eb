#pragma once

#include <string_view>

namespace outrigger::http::internal {

/// Optional white space round a field value is not part of it (RFC 9110, 5.5).
[[nodiscard]] constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

/// A token of RFC 9110, 5.6.2: what a field name may be.
[[nodiscard]] constexpr bool is_token(std::string_view text) {
  for (const char c : text) {
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter_or_digit && !std::string_view("!#$%&'*+-.^_`|~").contains(c)) {
      return false;
    }
  }
  return !text.empty();
}

/// No control character but a tab: what a field value may hold without ending the line.
[[nodiscard]] constexpr bool is_field_value(std::string_view text) {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
      return false;
    }
  }
  return true;
}

/// host [":" port] of RFC 3986, not empty: a name, an IPv4 address or a bracketed IPv6 address.
[[nodiscard]] constexpr bool is_valid_host(std::string_view text) {
  const auto host_end = text.starts_with('[') ? text.find(']') : text.find(':');
  auto host = text.substr(0, host_end);
  auto rest = host_end == std::string_view::npos ? std::string_view() : text.substr(host_end);
  std::string_view extra = "-._~!$&'()*+,;=%";
  if (text.starts_with('[')) {
    if (rest.empty()) {
      return false;
    }
    host.remove_prefix(1);
    rest.remove_prefix(1);
    extra = ":.%";
  }
  if (host.empty()) {
    return false;
  }
  for (const char c : host) {
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter_or_digit && !extra.contains(c)) {
      return false;
    }
  }
  if (rest.empty()) {
    return true;
  }
  if (!rest.starts_with(':') || rest.size() > 6) {
    return false;
  }
  rest.remove_prefix(1);
  for (const char c : rest) {
    if (c < '0' || c > '9') {
      return false;
    }
  }
  return true;
}

}  // namespace outrigger::http::internal
