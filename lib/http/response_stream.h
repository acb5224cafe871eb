#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace outrigger::http {

/// An answer whose body is sent while it is made: events, exports, what another server sends. Begun with Responder::stream().
///
/// HTTP/1.1 clients get it chunked, or with Content-Length if the head has `content_length`; HTTP/1.0 clients get it until the
/// connection closes. Move-only; usable from any thread, one at a time, and holds none. Destroyed before finish() it cuts the
/// connection, so that no client takes a part for the whole; so does a body that is not as long as the head said.
class ResponseStream final {
 public:
  enum class Write : std::uint8_t {
    kRoom,   ///< taken; there is room for more
    kFull,   ///< taken; wait for on_room() before writing more
    kEnded,  ///< nobody reads: the client has gone, or the answer has no body (HEAD, 204, 304)
  };

  /// Where it goes; implemented by the server.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual Write write(std::string bytes) = 0;
    [[nodiscard]] virtual bool has_room() const = 0;
    virtual void on_room(std::function<void()> callback) = 0;
    virtual void on_gone(std::function<void()> callback) = 0;
    virtual void finish() = 0;
    virtual void cut() = 0;
  };

  ResponseStream() = default;
  explicit ResponseStream(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
  ~ResponseStream();
  ResponseStream(ResponseStream&&) noexcept = default;
  ResponseStream& operator=(ResponseStream&& other) noexcept;

  /// Sends the bytes soon. They wait in a buffer of ServerSettings::stream_buffer_bytes, which one write may exceed; a write while
  /// it is full already cuts the connection and counts as limit `stream_buffer`: who cannot wait asks has_room() first.
  Write write(std::string bytes);
  [[nodiscard]] bool has_room() const;

  /// Calls back once, on the loop and never from within this call, as soon as there is room, or nobody reads any more. Must not block.
  void on_room(std::function<void()> callback);

  /// Calls back once, on the loop, if the client goes before finish(). Must not block. Replaces what Responder::on_gone() was given.
  void on_gone(std::function<void()> callback);

  /// The body is whole. What was written goes out first.
  void finish();

 private:
  std::shared_ptr<Sink> sink_;
};

}  // namespace outrigger::http
