#pragma once

#include <functional>
#include <memory>

#include "lib/http/message.h"
#include "lib/http/response_stream.h"

namespace outrigger::http {

/// The right to answer one request, once, from any thread.
///
/// Move-only. Destroyed unused, it answers 500, so that no client waits for ever. After the client has gone, send() does
/// nothing. Answers of pipelined requests go out in the order of the requests, whichever is ready first.
class Responder final {
 public:
  /// Where an answer goes; implemented by the server's connection.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void send(Response response) = 0;  ///< any thread
    /// Any thread. Nothing: its reader is gone from the start.
    virtual std::shared_ptr<ResponseStream::Sink> stream(Response head) = 0;
    virtual void on_gone(std::function<void()> callback) = 0;  ///< called on the loop when the client goes first
  };

  Responder() = default;
  explicit Responder(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
  ~Responder();
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&& other) noexcept;

  void send(Response response);
  /// Sends the head at once and the body as it is written. `head.body` is its beginning, `head.content_length`, if given, the
  /// length of the whole. What on_gone() was given stays in force.
  [[nodiscard]] ResponseStream stream(Response head);
  void on_gone(std::function<void()> callback);

 private:
  std::shared_ptr<Sink> sink_;
};

}  // namespace outrigger::http
