#include "lib/http/cpp_httplib/internal/multipart.h"

#include <algorithm>

#include "lib/http/internal/syntax.h"
#include "lib/http/message.h"

namespace outrigger::http::cpp_httplib::internal {
namespace {

using http::internal::is_field_value;
using http::internal::is_token;
using http::internal::trim;

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kMaxBoundaryBytes = 70;
constexpr BodyFault kMalformed{400, ""};

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

bool is_boundary(std::string_view text) {
  const auto allowed = [](char c) {
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter_or_digit || std::string_view("'()+_,-./:=? ").contains(c);
  };
  return !text.empty() && text.size() <= kMaxBoundaryBytes && text.back() != ' ' && std::ranges::all_of(text, allowed);
}

struct Parameter {
  std::string_view name;
  std::string value;
};

// The next `; name=value` of a header field, taken off its front. A backslash escapes a quote and itself only: clients send
// Windows paths in quoted strings without doubling theirs.
std::optional<Parameter> take_parameter(std::string_view& rest) {
  if (!rest.starts_with(';')) {
    return std::nullopt;
  }
  rest = trim(rest.substr(1));
  const auto equals = rest.find('=');
  if (equals == std::string_view::npos || !is_token(trim(rest.substr(0, equals)))) {
    return std::nullopt;
  }
  Parameter parameter{trim(rest.substr(0, equals)), {}};
  rest = trim(rest.substr(equals + 1));
  if (!rest.starts_with('"')) {
    const auto value = trim(rest.substr(0, rest.find(';')));
    parameter.value = value;
    rest = trim(rest.substr(std::min(rest.size(), rest.find(';'))));
    return parameter;
  }
  std::size_t i = 1;
  while (i < rest.size() && rest[i] != '"') {
    if (rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\')) {
      ++i;
    }
    parameter.value += rest[i++];
  }
  if (i == rest.size()) {
    return std::nullopt;
  }
  rest = trim(rest.substr(i + 1));
  return parameter;
}

// RFC 5987's UTF-8''percent-encoded.
std::optional<std::string> decode_extended(std::string_view value) {
  constexpr std::string_view kCharset = "UTF-8'";
  if (!starts_with_ignoring_case(value, kCharset)) {
    return std::nullopt;
  }
  value.remove_prefix(kCharset.size());
  const auto language_end = value.find('\'');
  return language_end == std::string_view::npos ? std::nullopt : percent_decode(value.substr(language_end + 1));
}

bool read_disposition(std::string_view value, MultipartPart& part, bool& has_name) {
  constexpr std::string_view kType = "form-data";
  if (!starts_with_ignoring_case(value, kType)) {
    return false;
  }
  auto rest = trim(value.substr(kType.size()));
  std::optional<std::string> extended;
  while (!rest.empty()) {
    auto parameter = take_parameter(rest);
    if (!parameter) {
      return false;
    }
    if (equal_ignoring_case(parameter->name, "name")) {
      has_name = true;
      part.name = std::move(parameter->value);
    } else if (equal_ignoring_case(parameter->name, "filename")) {
      part.filename = std::move(parameter->value);
    } else if (equal_ignoring_case(parameter->name, "filename*")) {
      extended = decode_extended(parameter->value);
      if (!extended) {
        return false;
      }
    }
  }
  if (extended) {
    part.filename = std::move(*extended);
  }
  return true;
}

// The fields of one part, without the empty line that ends them.
std::optional<MultipartPart> read_part_head(std::string_view head) {
  MultipartPart part;
  bool has_name = false;
  while (!head.empty()) {
    const auto line = head.substr(0, head.find(kLineEnd));
    head.remove_prefix(std::min(head.size(), line.size() + kLineEnd.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || !is_field_value(line)) {
      return std::nullopt;
    }
    const auto value = trim(line.substr(colon + 1));
    if (equal_ignoring_case(line.substr(0, colon), "content-type")) {
      part.content_type = value;
    } else if (equal_ignoring_case(line.substr(0, colon), "content-disposition") && (has_name || !read_disposition(value, part, has_name))) {
      return std::nullopt;
    }
  }
  return has_name ? std::optional(std::move(part)) : std::nullopt;
}

}  // namespace

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  const auto type_end = content_type.find(';');
  if (type_end == std::string_view::npos || !equal_ignoring_case(trim(content_type.substr(0, type_end)), "multipart/form-data")) {
    return std::nullopt;
  }
  auto rest = content_type.substr(type_end);
  while (auto parameter = take_parameter(rest)) {
    if (equal_ignoring_case(parameter->name, "boundary")) {
      return is_boundary(parameter->value) ? std::optional(std::move(parameter->value)) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::expected<std::vector<MultipartPart>, BodyFault> parse_multipart(std::string_view body, std::string_view boundary,
                                                                     const MultipartLimits& limits) {
  const auto delimiter = std::string(kLineEnd).append("--").append(boundary);
  std::vector<MultipartPart> parts;
  // The first delimiter needs no line before it; what comes before is a preamble that nobody reads.
  std::string_view rest = body;
  if (rest.starts_with(std::string_view(delimiter).substr(kLineEnd.size()))) {
    rest.remove_prefix(delimiter.size() - kLineEnd.size());
  } else if (const auto first = rest.find(delimiter); first != std::string_view::npos) {
    rest.remove_prefix(first + delimiter.size());
  } else {
    return std::unexpected(kMalformed);
  }
  while (!rest.starts_with("--")) {
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t")));
    if (!rest.starts_with(kLineEnd)) {
      return std::unexpected(kMalformed);
    }
    if (parts.size() == limits.max_parts) {
      return std::unexpected(BodyFault{413, "multipart_parts"});
    }
    rest.remove_prefix(kLineEnd.size());
    const auto head_end = rest.substr(0, std::min(rest.size(), limits.max_part_head_bytes + kHeadEnd.size())).find(kHeadEnd);
    if (head_end == std::string_view::npos) {
      return std::unexpected(rest.size() > limits.max_part_head_bytes ? BodyFault{413, "multipart_part_head_bytes"} : kMalformed);
    }
    auto part = read_part_head(rest.substr(0, head_end));
    // The empty line before an empty content may be the delimiter's own.
    const auto end = rest.find(delimiter, head_end + kLineEnd.size());
    if (!part || end == std::string_view::npos) {
      return std::unexpected(kMalformed);
    }
    const auto begin = head_end + kHeadEnd.size();
    part->content = end > begin ? rest.substr(begin, end - begin) : std::string_view();
    parts.push_back(std::move(*part));
    rest.remove_prefix(end + delimiter.size());
  }
  return parts;
}

}  // namespace outrigger::http::cpp_httplib::internal
