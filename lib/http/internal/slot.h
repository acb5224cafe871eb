#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "lib/http/internal/mailbox.h"
#include "lib/http/internal/response_writer.h"
#include "lib/http/internal/stream_buffer.h"
#include "lib/http/responder.h"

namespace outrigger::http::internal {

class Connection;

/// What an answer needs to know of its request.
struct RequestFacts {
  Method method = Method::kGet;
  std::string_view route;  ///< for the metrics; lives as long as the router
  std::chrono::steady_clock::time_point received;
  bool is_head = false;
  bool keeps_alive = false;
  bool is_http10 = false;
};

/// Runs a handler's callback; what it throws is logged.
void call_guarded(const std::function<void()>& callback);

/// The place of one answer in the order of a connection's answers; the Responder's sink. Its state belongs to the loop.
class Slot final : public Responder::Sink, public std::enable_shared_from_this<Slot> {
 public:
  Slot(Connection& connection, std::shared_ptr<Mailbox> mailbox, const RequestFacts& facts, bool is_deferred, std::size_t stream_capacity_bytes)
      : facts_(facts), mailbox_(std::move(mailbox)), connection_(&connection), stream_capacity_(stream_capacity_bytes), is_deferred_(is_deferred) {}
  ~Slot() override;

  void send(Response response) override;
  std::shared_ptr<ResponseStream::Sink> stream(Response head) override;
  void on_gone(std::function<void()> callback) override;

  [[nodiscard]] const RequestFacts& facts() const { return facts_; }
  [[nodiscard]] bool is_deferred() const { return is_deferred_; }
  [[nodiscard]] bool is_ready() const { return response_.has_value(); }
  [[nodiscard]] Response& response() { return *response_; }  ///< of a stream: its head
  [[nodiscard]] StreamBuffer* stream_buffer() { return stream_.get(); }
  /// Of a stream whose head has gone out: how the body is framed, and what it may still hold.
  struct Begun {
    BodyFraming framing;
    std::uint64_t left;
  };
  std::optional<Begun> begun;
  void set_response(Response response) { response_ = std::move(response); }

  /// The client has closed: the callback runs once. The connection may still take an answer.
  void client_gone();
  /// The connection is no more, or the answer is over: what still comes goes nowhere.
  void detach();
  void stream_has_news();
  void forget_callback() { on_gone_ = nullptr; }

 private:
  void complete(Response response);
  void begin_stream(Response head, std::shared_ptr<StreamBuffer> stream);
  void keep_callback(std::function<void()> callback);

  RequestFacts facts_;
  std::shared_ptr<Mailbox> mailbox_;
  Connection* connection_;
  std::optional<Response> response_;
  std::shared_ptr<StreamBuffer> stream_;
  std::size_t stream_capacity_;
  std::function<void()> on_gone_;
  bool is_gone_ = false;
  bool is_deferred_;
};

}  // namespace outrigger::http::internal
