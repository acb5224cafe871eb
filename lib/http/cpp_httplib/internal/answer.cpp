#include "lib/http/cpp_httplib/internal/answer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <format>
#include <memory>

namespace outrigger::http::cpp_httplib::internal {
namespace {

constexpr std::size_t kMaxRanges = 16;

class OpenFile final {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// Nothing when it is not open, or no regular file.
  [[nodiscard]] std::optional<std::size_t> size() const {
    struct stat facts{};
    if (descriptor_ < 0 || ::fstat(descriptor_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
      return std::nullopt;
    }
    return static_cast<std::size_t>(facts.st_size);
  }

  [[nodiscard]] ssize_t read(std::span<char> into, std::size_t offset) const {
    return ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
  }

 private:
  int descriptor_;
};

// A position of a range: -1 where it is left out, as httplib::Range has it.
std::optional<ssize_t> parse_position(std::string_view text) {
  if (text.empty()) {
    return -1;
  }
  ssize_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  return error == std::errc{} && end == text.data() + text.size() && position >= 0 ? std::optional(position) : std::nullopt;
}

struct MediaType {
  std::string_view extension;
  std::string_view type;
};

constexpr std::array kMediaTypes{
    MediaType{"css", "text/css"},          MediaType{"csv", "text/csv"},        MediaType{"gif", "image/gif"},
    MediaType{"htm", "text/html"},         MediaType{"html", "text/html"},      MediaType{"jpeg", "image/jpeg"},
    MediaType{"jpg", "image/jpeg"},        MediaType{"js", "text/javascript"},  MediaType{"json", "application/json"},
    MediaType{"mjs", "text/javascript"},   MediaType{"mp4", "video/mp4"},       MediaType{"pdf", "application/pdf"},
    MediaType{"png", "image/png"},         MediaType{"svg", "image/svg+xml"},   MediaType{"txt", "text/plain"},
    MediaType{"wasm", "application/wasm"}, MediaType{"webp", "image/webp"},     MediaType{"woff2", "font/woff2"},
    MediaType{"xml", "application/xml"},   MediaType{"zip", "application/zip"},
};

std::string_view media_type_of(std::string_view path) {
  const auto dot = path.rfind('.');
  const auto extension = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  const auto* found = std::ranges::find(kMediaTypes, extension, &MediaType::extension);
  return found == kMediaTypes.end() ? "application/octet-stream" : found->type;
}

std::size_t content_size(const httplib::Response& response) { return is_provided(response) ? response.content_length_ : response.body.size(); }

void drop_content(httplib::Response& response) {
  response.body.clear();
  response.content_provider_ = nullptr;
  response.content_length_ = 0;
  response.is_chunked_content_provider_ = false;
}

}  // namespace

std::optional<httplib::Ranges> parse_ranges(std::string_view value) {
  constexpr std::string_view kUnit = "bytes=";
  if (!value.starts_with(kUnit)) {
    return std::nullopt;
  }
  value.remove_prefix(kUnit.size());
  httplib::Ranges ranges;
  for (bool more = true; more;) {
    const auto comma = value.find(',');
    more = comma != std::string_view::npos;
    auto range = value.substr(0, comma);
    value.remove_prefix(more ? comma + 1 : value.size());
    range.remove_prefix(std::min(range.size(), range.find_first_not_of(" \t")));
    const auto dash = range.find('-');
    const auto first = parse_position(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? std::nullopt : parse_position(range.substr(dash + 1));
    if (!first || !last || (*first < 0 && *last < 0) || (*last >= 0 && *first > *last)) {
      return std::nullopt;
    }
    ranges.emplace_back(*first, *last);
    if (ranges.size() > kMaxRanges) {
      return httplib::Ranges{};
    }
  }
  return ranges;
}

bool is_provided(const httplib::Response& response) { return response.body.empty() && response.content_provider_; }

void open_file_content(httplib::Response& response) {
  if (response.file_content_path_.empty()) {
    return;
  }
  const auto file = std::make_shared<const OpenFile>(response.file_content_path_);
  const auto size = file->size();
  if (!size) {
    drop_content(response);
    response.status = 404;
    return;
  }
  const auto& chosen = response.file_content_content_type_;
  const auto type = chosen.empty() ? std::string(media_type_of(response.file_content_path_)) : chosen;
  response.set_content_provider(*size, type, [file](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
    std::array<char, 64U << 10U> buffer{};
    const auto got = file->read(std::span(buffer).first(std::min(length, buffer.size())), offset);
    return got > 0 && sink.write(buffer.data(), static_cast<std::size_t>(got));
  });
}

ContentSpan apply_range(const httplib::Request& request, httplib::Response& response, bool is_rangeable) {
  ContentSpan whole{0, std::nullopt};
  if (!is_provided(response) || response.content_length_ > 0) {
    whole.length = content_size(response);
  }
  if (!is_rangeable || !whole.length || request.ranges.size() != 1 || request.method != "GET") {
    return whole;
  }
  const auto size = static_cast<ssize_t>(*whole.length);
  auto [first, last] = request.ranges.front();
  if (first < 0) {
    first = size - std::min(last, size);
    last = size - 1;
  }
  last = last < 0 ? size - 1 : std::min(last, size - 1);
  if (first > last) {
    drop_content(response);
    response.status = 416;
    response.headers.erase("Content-Type");
    response.set_header("Content-Range", std::format("bytes */{}", size));
    return {0, 0};
  }
  response.status = 206;
  response.set_header("Content-Range", std::format("bytes {}-{}/{}", first, last, size));
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1)};
}

Response make_head(const httplib::Response& response) {
  Response head;
  head.status = response.status;
  head.headers.reserve(response.headers.size() + 1);
  for (const auto& [field, value] : response.headers) {
    head.headers.emplace_back(field, value);
  }
  const bool has_content = !response.body.empty() || response.content_provider_;
  if (has_content && !response.has_header("Content-Type")) {
    head.headers.emplace_back("Content-Type", "text/plain");
  }
  return head;
}

}  // namespace outrigger::http::cpp_httplib::internal
