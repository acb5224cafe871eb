#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outrigger::http::cpp_httplib::internal {

struct MultipartLimits {
  std::size_t max_parts = 1'024;
  std::size_t max_part_head_bytes = 8U << 10U;
};

struct MultipartPart {
  std::string name;
  std::string filename;  ///< empty: none was sent
  std::string content_type;
  std::string_view content;  ///< into the body
};

/// Why a body is refused: the answer's status, and which limit was reached (empty: it broke the grammar).
struct BodyFault {
  int status;
  std::string_view limit;
};

/// The boundary that a Content-Type of multipart/form-data names; nothing when it names none that RFC 2046, 5.1.1 allows.
[[nodiscard]] std::optional<std::string> multipart_boundary(std::string_view content_type);

/// Reads a whole multipart/form-data body (RFC 7578, RFC 2046): no recursion, no regular expression, one pass.
[[nodiscard]] std::expected<std::vector<MultipartPart>, BodyFault> parse_multipart(std::string_view body, std::string_view boundary,
                                                                                   const MultipartLimits& limits);

}  // namespace outrigger::http::cpp_httplib::internal
