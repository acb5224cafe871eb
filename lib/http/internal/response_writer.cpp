#include "lib/http/internal/response_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <format>

#include "lib/http/internal/syntax.h"

namespace outrigger::http::internal {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

// What the server decides itself; lengths first, since most names differ there.
bool is_servers_business(std::string_view name) {
  switch (name.size()) {
    case 10: return equal_ignoring_case(name, "connection") || equal_ignoring_case(name, "keep-alive");
    case 14: return equal_ignoring_case(name, "content-length");
    case 17: return equal_ignoring_case(name, "transfer-encoding");
    default: return false;
  }
}

bool has_no_content(int status) { return status == 204 || status == 304; }

}  // namespace

HttpDate format_date(std::time_t now) {
  constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  gmtime_r(&now, &utc);
  HttpDate date{};
  std::format_to_n(date.data(), date.size(), "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                   kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return date;
}

bool is_sendable(const Response& response) {
  return response.status >= 200 && response.status <= 599 && is_field_value(response.content_type) &&
         std::ranges::all_of(response.headers, [](const auto& header) { return is_token(header.first) && is_field_value(header.second); });
}

void append_head(std::string& out, const Response& response, const WriteOptions& options) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(response.status));
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\n";
  bool has_date = false;
  if (!response.content_type.empty()) {
    out += "Content-Type: ";
    out += response.content_type;
    out += "\r\n";
  }
  for (const auto& [name, value] : response.headers) {
    if (is_servers_business(name)) {
      continue;
    }
    has_date = has_date || equal_ignoring_case(name, "date");
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  if (!has_date) {
    out += "Date: ";
    out += options.date;
    out += "\r\n";
  }
  if (options.framing == BodyFraming::kChunked) {
    out += has_no_content(response.status) ? "" : "Transfer-Encoding: chunked\r\n";
  } else if (options.framing == BodyFraming::kUntilClose) {
    // The end of the connection is the end of the body.
  } else if (sends_body(response, options)) {
    out += "Content-Length: ";
    append_number(out, options.length.value_or(response.body.size()));
    out += "\r\n";
  } else if (response.status != 204 && (response.content_length || !has_no_content(response.status))) {
    out += "Content-Length: ";
    append_number(out, response.content_length.value_or(response.body.size()));
    out += "\r\n";
  }
  if (options.close) {
    out += "Connection: close\r\n";
  } else if (options.announce_keep_alive) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
}

void append_chunk_size(std::string& out, std::size_t bytes) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes, 16).ptr;
  out.append(digits.data(), end);
  out += "\r\n";
}

bool sends_body(const Response& response, const WriteOptions& options) { return !options.is_head && !has_no_content(response.status); }

}  // namespace outrigger::http::internal
