#include "lib/http/cpp_httplib/internal/body.h"

#include <algorithm>

namespace outrigger::http::cpp_httplib::internal {
namespace {

constexpr std::size_t kPieceBytes = 16U << 10U;

std::expected<std::string, BodyFault> decompress(httplib::detail::decompressor& decompressor, std::string_view body, std::size_t max_bytes) {
  std::string decoded;
  bool fits = true;
  const bool is_sound = decompressor.is_valid() && decompressor.decompress(body.data(), body.size(), [&](const char* data, std::size_t size) {
    fits = size <= max_bytes - decoded.size();
    if (fits) {
      decoded.append(data, size);
    }
    return fits;
  });
  if (!fits) {
    return std::unexpected(BodyFault{413, "decoded_body_bytes"});
  }
  if (!is_sound) {
    return std::unexpected(BodyFault{400, ""});
  }
  return decoded;
}

bool give_in_pieces(std::string_view bytes, const httplib::ContentReceiver& receiver) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kPieceBytes);
    bytes.remove_prefix(piece.size());
    if (!receiver(piece.data(), piece.size())) {
      return false;
    }
  }
  return true;
}

std::expected<std::vector<MultipartPart>, BodyFault> parts_of(const httplib::Request& request, std::string_view body, const MultipartLimits& limits) {
  const auto boundary = multipart_boundary(request.get_header_value("Content-Type"));
  if (!boundary) {
    return std::unexpected(BodyFault{400, ""});
  }
  return parse_multipart(body, *boundary, limits);
}

bool give_parts(const std::vector<MultipartPart>& parts, const httplib::MultipartContentHeader& header, const httplib::ContentReceiver& receiver) {
  return std::ranges::all_of(parts, [&](const MultipartPart& part) {
    return header({part.name, "", part.filename, part.content_type}) && give_in_pieces(part.content, receiver);
  });
}

}  // namespace

std::expected<std::string, BodyFault> decode_body(std::string body, const httplib::Request& request, std::size_t max_bytes) {
  const auto encoding = request.get_header_value("Content-Encoding");
  if (body.empty() || encoding.empty() || encoding == "identity") {
    return body;
  }
  if (encoding == "gzip" || encoding == "deflate") {
    httplib::detail::gzip_decompressor decompressor;
    return decompress(decompressor, body, max_bytes);
  }
  if (encoding == "br") {
    httplib::detail::brotli_decompressor decompressor;
    return decompress(decompressor, body, max_bytes);
  }
  return std::unexpected(BodyFault{415, ""});
}

std::expected<void, BodyFault> fill_body(httplib::Request& request, std::string body, const BodyLimits& limits) {
  if (request.is_multipart_form_data()) {
    const auto parts = parts_of(request, body, limits.multipart);
    if (!parts) {
      return std::unexpected(parts.error());
    }
    for (const auto& part : *parts) {
      request.files.emplace(part.name, httplib::MultipartFormData{part.name, std::string(part.content), part.filename, part.content_type});
    }
    return {};
  }
  if (request.get_header_value("Content-Type").starts_with("application/x-www-form-urlencoded")) {
    if (body.size() > limits.max_form_bytes) {
      return std::unexpected(BodyFault{413, "form_bytes"});
    }
    httplib::detail::parse_query_text(body, request.params);
  }
  request.body = std::move(body);
  return {};
}

httplib::ContentReader make_content_reader(const httplib::Request& request, httplib::Response& response, std::string_view body,
                                           const BodyLimits& limits, std::function<void(std::string_view)> limit_reached) {
  const auto failed = [&response](int status) {
    response.status = status;
    return false;
  };
  return {[body, failed](const httplib::ContentReceiver& receiver) { return give_in_pieces(body, receiver) || failed(400); },
          [&request, body, limits, failed, limit_reached = std::move(limit_reached)](const httplib::MultipartContentHeader& header,
                                                                                     const httplib::ContentReceiver& receiver) {
            const auto parts = parts_of(request, body, limits.multipart);
            if (parts) {
              return give_parts(*parts, header, receiver) || failed(400);
            }
            if (!parts.error().limit.empty()) {
              limit_reached(parts.error().limit);
            }
            return failed(parts.error().status);
          }};
}

}  // namespace outrigger::http::cpp_httplib::internal
