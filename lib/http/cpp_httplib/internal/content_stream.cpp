#include "lib/http/cpp_httplib/internal/content_stream.h"

#include <algorithm>
#include <future>
#include <memory>

#include "lib/telemetry/log.h"

namespace outrigger::http::cpp_httplib::internal {
namespace {

constexpr std::size_t kPieceBytes = 64U << 10U;

// A callback that is dropped, with its connection, breaks the promise and so ends the wait.
bool wait_for_room(ResponseStream& stream, std::chrono::milliseconds limit) {
  const auto room = std::make_shared<std::promise<void>>();
  const auto arrived = room->get_future();
  stream.on_room([room] { room->set_value(); });
  return arrived.wait_for(limit) == std::future_status::ready;
}

class Writer final {
 public:
  Writer(ResponseStream& stream, std::size_t offset, const ContentStreamLimits& limits) : stream_(stream), offset_(offset), limits_(limits) {}

  bool write(std::string_view bytes) {
    while (is_open_ && !bytes.empty()) {
      if (!stream_.has_room() && !wait_for_room(stream_, limits_.room)) {
        is_open_ = false;
        break;
      }
      const auto piece = bytes.substr(0, kPieceBytes);
      bytes.remove_prefix(piece.size());
      offset_ += piece.size();
      is_open_ = stream_.write(std::string(piece)) != ResponseStream::Write::kEnded;
    }
    return is_open_;
  }

  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  ResponseStream& stream_;
  std::size_t offset_;
  const ContentStreamLimits& limits_;
  bool is_open_ = true;
};

bool run_provider(const httplib::ContentProvider& provider, Writer& writer, const ContentSpan& span, const ContentStreamLimits& limits) {
  bool is_done = false;
  httplib::DataSink sink;
  sink.write = [&writer](const char* data, std::size_t size) { return writer.write({data, size}); };
  sink.is_writable = [&] { return writer.is_open() && (span.length || !limits.is_stopping()); };
  sink.done = [&is_done] { is_done = true; };
  sink.done_with_trailer = [&is_done](const httplib::Headers&) { is_done = true; };
  if (span.length) {
    const auto end = span.offset + *span.length;
    while (writer.offset() < end) {
      if (!writer.is_open() || !provider(writer.offset(), end - writer.offset(), sink)) {
        return false;
      }
    }
    return writer.is_open() && writer.offset() == end;
  }
  while (!is_done) {
    if (!sink.is_writable() || !provider(writer.offset(), 0, sink)) {
      return false;
    }
  }
  return writer.is_open();
}

}  // namespace

bool send_content(httplib::Response& response, ResponseStream stream, const ContentSpan& span, const ContentStreamLimits& limits) {
  Writer writer(stream, span.offset, limits);
  try {
    response.content_provider_success_ = run_provider(response.content_provider_, writer, span, limits);
  } catch (const std::exception& error) {
    telemetry::log(telemetry::LogLevel::kError, "a content provider threw", {{"error", error.what()}});
  } catch (...) {
    telemetry::log(telemetry::LogLevel::kError, "a content provider threw", {{"error", "not a std::exception"}});
  }
  if (response.content_provider_success_) {
    stream.finish();
  }
  return response.content_provider_success_;
}

}  // namespace outrigger::http::cpp_httplib::internal
