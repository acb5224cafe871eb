#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outrigger::http {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions };

[[nodiscard]] std::string_view name(Method method);

/// A header as it stands in the message; names compare without regard to case.
struct HeaderView {
  std::string_view name;
  std::string_view value;
};

/// A request as a loop handler sees it: views into the connection's buffer, valid until the handler returns.
struct RequestView {
  Method method = Method::kGet;
  std::string_view target;  ///< as received
  std::string_view path;    ///< percent-decoded once; matched by the router
  std::string_view query;   ///< raw, without '?'
  std::span<const HeaderView> headers;
  std::string_view body;
  std::span<const HeaderView> path_parameters;  ///< ":name" of the route and its decoded value
  std::string_view peer_address;                ///< "127.0.0.1:43210", from the socket, never from a header

  /// First value of a header; nothing when it is absent.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> path_parameter(std::string_view name) const;
  /// Decoded value of the first query parameter with that name ('+' is a space); empty for one without '='.
  [[nodiscard]] std::optional<std::string> query_parameter(std::string_view name) const;
};

/// The same request, owned: what a deferred handler keeps while it waits.
class Request final {
 public:
  Request() = default;
  explicit Request(const RequestView& view);

  Method method = Method::kGet;
  std::string target;
  std::string path;
  std::string query;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::vector<std::pair<std::string, std::string>> path_parameters;
  std::string peer_address;

  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> path_parameter(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> query_parameter(std::string_view name) const;
};

/// An answer. Content-Length, Transfer-Encoding and Connection are the server's business: a header that names them is ignored.
/// Date is added where it is missing. A header that is no token, or whose value holds a control character, is a programming
/// error of the handler: the server answers 500 instead, so no input can split an answer.
struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  /// For an answer to HEAD, or a 304: the length that the body would have, where it is not `body.size()`. For a stream: its length.
  std::optional<std::uint64_t> content_length;
  /// Sent as Content-Type beside `headers`: a literal, since nothing is copied. Costs a loop handler no allocation.
  std::string_view content_type = {};

  [[nodiscard]] static Response text(int status, std::string body);
  [[nodiscard]] static Response json(int status, std::string body);
  /// RFC 9457 problem details: {"type","title","status","detail"}.
  [[nodiscard]] static Response problem(int status, std::string_view title, std::string_view detail);
};

/// Header names compare so (RFC 9110, 5.1); ASCII only.
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);

[[nodiscard]] std::string_view reason_phrase(int status);

/// Percent-decodes once. Nothing for a broken escape or an encoded NUL.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

}  // namespace outrigger::http
