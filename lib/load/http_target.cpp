#include "lib/load/http_target.h"

#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <format>

namespace outrigger::load {
namespace {

bool is_control_or_space(char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }

class HttpSender final : public Sender {
 public:
  HttpSender(const HttpRequest& request, std::string run_id) : request_(request), run_id_(std::move(run_id)), client_(request.url.origin) {
    const auto timeout = std::chrono::duration_cast<std::chrono::microseconds>(request.timeout);
    client_.set_keep_alive(true);
    client_.set_tcp_nodelay(true);
    client_.set_follow_location(false);
    client_.set_url_encode(false);
    client_.set_decompress(false);
    client_.set_connection_timeout(timeout);
    client_.set_read_timeout(timeout);
    client_.set_write_timeout(timeout);
  }

  Answer send(std::uint64_t index) override {
    const auto started = std::chrono::steady_clock::now();
    // The client's own timeouts start again with every byte; this one does not.
    const auto deadline = started + request_.timeout;
    const auto is_late = [&] { return std::chrono::steady_clock::now() >= deadline; };
    try {
      httplib::Request request;
      request.method = request_.method;
      request.path = expand(request_.url.target, run_id_, index);
      for (const auto& [name, value] : request_.headers) {
        request.headers.emplace(name, expand(value, run_id_, index));
      }
      request.body = expand(request_.body, run_id_, index);
      request.progress = [&](std::uint64_t, std::uint64_t) { return !is_late(); };
      const auto result = client_.send(request);
      if (result.error() == httplib::Error::Success && !is_late()) {
        return {result->status < 400 ? Outcome::kOk : Outcome::kHttpError, result->status};
      }
      const bool timed_out = is_late() || result.error() == httplib::Error::ConnectionTimeout || result.error() == httplib::Error::Canceled;
      return {timed_out ? Outcome::kTimeout : Outcome::kTransport, 0};
    } catch (const std::exception&) {
      return {Outcome::kTransport, 0};
    }
  }

 private:
  const HttpRequest request_;
  const std::string run_id_;
  httplib::Client client_;
};

}  // namespace

Result<Url> parse_url(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument,
                std::format("'{}' is not a URL that can be called: {}; write one such as http://127.0.0.1:8000/api/health", text, why));
  };
  const auto scheme_end = text.find("://");
  const auto scheme = text.substr(0, scheme_end == std::string_view::npos ? 0 : scheme_end);
  if (scheme != "http" && scheme != "https") {
    return wrong("it must begin with http:// or https://");
  }
  if (std::ranges::any_of(text, is_control_or_space)) {
    return wrong("it holds a space or a control character");
  }
  const auto rest = text.substr(scheme_end + 3);
  const auto path_begin = std::min(rest.find_first_of("/?#"), rest.size());
  const auto authority = rest.substr(0, path_begin);
  if (authority.contains('@')) {
    return wrong("it holds a user name; use a header for credentials");
  }
  const auto bracket = authority.rfind(']');
  const auto colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (authority.substr(0, colon).empty()) {
    return wrong("it has no host");
  }
  if (colon != std::string_view::npos) {
    const auto port_text = authority.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, problem] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if (problem != std::errc{} || end != port_text.data() + port_text.size() || port == 0) {
      return wrong("its port is not a number from 1 to 65535");
    }
  }
  std::string target(rest.substr(path_begin, rest.find('#') - path_begin));
  if (!target.starts_with('/')) {
    target.insert(target.begin(), '/');
  }
  return Url{std::format("{}://{}", scheme, authority), std::move(target)};
}

Result<std::pair<std::string, std::string>> parse_header(std::string_view text) {
  const auto colon = text.find(':');
  const auto name = text.substr(0, std::min(colon, text.size()));
  if (colon == std::string_view::npos || name.empty() || std::ranges::any_of(name, is_control_or_space)) {
    return fail(ErrorCode::kInvalidArgument, std::format("'{}' is not a header: write it as 'Name: value'", text));
  }
  auto value = text.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, std::format("the value of header {} holds a line break or NUL: remove it", name));
  }
  return std::pair{std::string(name), std::string(value)};
}

std::string expand(std::string_view text, std::string_view run_id, std::uint64_t sequence) {
  std::string out;
  for (auto open = text.find("{{"); open != std::string_view::npos; open = text.find("{{")) {
    out += text.substr(0, open);
    text.remove_prefix(open);
    if (constexpr std::string_view kSequence = "{{sequence}}"; text.starts_with(kSequence)) {
      out += std::to_string(sequence);
      text.remove_prefix(kSequence.size());
    } else if (constexpr std::string_view kRun = "{{run}}"; text.starts_with(kRun)) {
      out += run_id;
      text.remove_prefix(kRun.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out += text;
}

std::unique_ptr<Sender> make_http_sender(const HttpRequest& request, const std::string& run_id) {
  return std::make_unique<HttpSender>(request, run_id);
}

}  // namespace outrigger::load
