#include "lib/http/message.h"

#include <algorithm>
#include <array>
#include <format>

namespace outrigger::http {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

template <class Fields>
std::optional<std::string_view> find_field(const Fields& fields, std::string_view name) {
  for (const auto& [field, value] : fields) {
    if (equal_ignoring_case(field, name)) {
      return value;
    }
  }
  return std::nullopt;
}

template <class Fields>
std::optional<std::string_view> find_exact(const Fields& fields, std::string_view name) {
  for (const auto& [field, value] : fields) {
    if (field == name) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_query_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const auto equals = part.find('=');
    if (percent_decode(part.substr(0, equals), true) == name) {
      return equals == std::string_view::npos ? std::string() : percent_decode(part.substr(equals + 1), true);
    }
  }
  return std::nullopt;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += std::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

struct Reason {
  int status;
  std::string_view phrase;
};

constexpr std::array kReasons{
    Reason{100, "Continue"},
    Reason{200, "OK"},
    Reason{201, "Created"},
    Reason{202, "Accepted"},
    Reason{204, "No Content"},
    Reason{206, "Partial Content"},
    Reason{301, "Moved Permanently"},
    Reason{302, "Found"},
    Reason{303, "See Other"},
    Reason{304, "Not Modified"},
    Reason{307, "Temporary Redirect"},
    Reason{308, "Permanent Redirect"},
    Reason{400, "Bad Request"},
    Reason{401, "Unauthorized"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{406, "Not Acceptable"},
    Reason{408, "Request Timeout"},
    Reason{409, "Conflict"},
    Reason{410, "Gone"},
    Reason{411, "Length Required"},
    Reason{412, "Precondition Failed"},
    Reason{413, "Content Too Large"},
    Reason{414, "URI Too Long"},
    Reason{415, "Unsupported Media Type"},
    Reason{416, "Range Not Satisfiable"},
    Reason{417, "Expectation Failed"},
    Reason{421, "Misdirected Request"},
    Reason{422, "Unprocessable Content"},
    Reason{425, "Too Early"},
    Reason{428, "Precondition Required"},
    Reason{429, "Too Many Requests"},
    Reason{431, "Request Header Fields Too Large"},
    Reason{500, "Internal Server Error"},
    Reason{501, "Not Implemented"},
    Reason{502, "Bad Gateway"},
    Reason{503, "Service Unavailable"},
    Reason{504, "Gateway Timeout"},
    Reason{505, "HTTP Version Not Supported"},
};

}  // namespace

std::string_view name(Method method) {
  switch (method) {
    case Method::kGet: return "GET";
    case Method::kHead: return "HEAD";
    case Method::kPost: return "POST";
    case Method::kPut: return "PUT";
    case Method::kPatch: return "PATCH";
    case Method::kDelete: return "DELETE";
    case Method::kOptions: return "OPTIONS";
  }
  return "GET";
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> RequestView::header(std::string_view field) const { return find_field(headers, field); }
std::optional<std::string_view> RequestView::path_parameter(std::string_view parameter) const { return find_exact(path_parameters, parameter); }
std::optional<std::string> RequestView::query_parameter(std::string_view parameter) const { return find_query_parameter(query, parameter); }

Request::Request(const RequestView& view)
    : method(view.method), target(view.target), path(view.path), query(view.query), body(view.body), peer_address(view.peer_address) {
  headers.reserve(view.headers.size());
  for (const auto& [field, value] : view.headers) {
    headers.emplace_back(field, value);
  }
  path_parameters.reserve(view.path_parameters.size());
  for (const auto& [parameter, value] : view.path_parameters) {
    path_parameters.emplace_back(parameter, value);
  }
}

std::optional<std::string_view> Request::header(std::string_view field) const { return find_field(headers, field); }
std::optional<std::string_view> Request::path_parameter(std::string_view parameter) const { return find_exact(path_parameters, parameter); }
std::optional<std::string> Request::query_parameter(std::string_view parameter) const { return find_query_parameter(query, parameter); }

Response Response::text(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = std::move(body), .content_length = {}};
}

Response Response::json(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body), .content_length = {}};
}

Response Response::problem(int status, std::string_view title, std::string_view detail) {
  std::string body = R"({"type":"about:blank","title":)";
  append_json_string(body, title);
  body += std::format(R"(,"status":{},"detail":)", status);
  append_json_string(body, detail);
  body += "}";
  return {.status = status, .headers = {{"Content-Type", "application/problem+json"}}, .body = std::move(body), .content_length = {}};
}

std::string_view reason_phrase(int status) {
  const auto found = std::ranges::lower_bound(kReasons, status, {}, &Reason::status);
  return found != kReasons.end() && found->status == status ? found->phrase : "";
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) {
        return std::nullopt;
      }
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0)) {
        return std::nullopt;
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace outrigger::http
