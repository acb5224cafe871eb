// Bytes from anybody as a multipart form: the parser never crashes, and what it lets through keeps its limits and lies in the body.
#include <cstdlib>
#include <iostream>

#include "lib/http/cpp_httplib/internal/multipart.h"

namespace {

using outrigger::http::cpp_httplib::internal::multipart_boundary;
using outrigger::http::cpp_httplib::internal::MultipartLimits;
using outrigger::http::cpp_httplib::internal::parse_multipart;

constexpr MultipartLimits kLimits{.max_parts = 4, .max_part_head_bytes = 128};

void require(bool holds, std::string_view what) {
  if (!holds) {
    std::cerr << "violated: " << what << '\n';
    std::abort();
  }
}

}  // namespace

// The first line is a Content-Type, the rest a body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto line_end = bytes.find('\n');
  const auto boundary = multipart_boundary(bytes.substr(0, line_end));
  require(!boundary || (!boundary->empty() && boundary->size() <= 70), "a boundary has a length that is allowed");
  const auto body = line_end == std::string_view::npos ? std::string_view() : bytes.substr(line_end + 1);
  const auto delimiter = std::string("\r\n--").append(boundary.value_or("b"));
  const auto parts = parse_multipart(body, boundary.value_or("b"), kLimits);
  if (!parts) {
    require(parts.error().status == 400 || parts.error().status == 413, "a refusal has its status");
    require((parts.error().status == 413) == !parts.error().limit.empty(), "413 names its limit");
    return 0;
  }
  require(parts->size() <= kLimits.max_parts, "the parts are within their limit");
  const char* read_to = body.data();
  for (const auto& part : *parts) {
    require(part.name.size() + part.filename.size() + part.content_type.size() <= 3 * kLimits.max_part_head_bytes, "a head is within its limit");
    require(!part.content.contains(delimiter), "a content ends at its delimiter");
    if (!part.content.empty()) {
      require(part.content.data() >= read_to && part.content.data() + part.content.size() <= body.data() + body.size(),
              "contents lie in the body, one after the other");
      read_to = part.content.data() + part.content.size();
    }
  }
  return 0;
}
