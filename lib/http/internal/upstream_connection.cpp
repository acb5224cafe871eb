#include "lib/http/internal/upstream_connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <format>
#include <limits>
#include <system_error>

namespace outrigger::http::internal {
namespace {

constexpr int kReadsPerTurn = 4;

std::string head_of(const UpstreamRequest& request) {
  std::string head = std::format("{} {} HTTP/1.1\r\n", name(request.method), request.target);
  for (const auto& [field, value] : request.headers) {
    head += field;
    head += ": ";
    head += value;
    head += "\r\n";
  }
  const bool expects_body = request.method == Method::kPost || request.method == Method::kPut || request.method == Method::kPatch;
  if (expects_body || !request.body.empty()) {
    head += std::format("Content-Length: {}\r\n", request.body.size());
  }
  head += "\r\n";
  return head;
}

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

UpstreamConnection::UpstreamConnection(UpstreamLoop& loop, asio::io_context& io) : loop_(loop), socket_(io) {}

void UpstreamConnection::connect(std::shared_ptr<Exchange> exchange) {
  exchange_ = std::move(exchange);
  exchange_->connection = shared_from_this();
  loop_.set_deadline(*this, std::chrono::steady_clock::now() + loop_.settings().connect_deadline);
  socket_.async_connect(loop_.server(), [self = shared_from_this()](std::error_code error) {
    if (self->is_closed_) {
      return;
    }
    if (error) {
      self->fail(ErrorCode::kUnavailable, std::format("cannot connect: {}", error.message()));
      return;
    }
    const int on = 1;
    ::setsockopt(self->socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::error_code ignored;
    self->socket_.non_blocking(true, ignored);
    self->is_connected_ = true;
    self->loop_.set_deadline(*self, kNever);
    self->write();
  });
}

void UpstreamConnection::send(std::shared_ptr<Exchange> exchange) {
  exchange_ = std::move(exchange);
  exchange_->connection = shared_from_this();
  was_used_ = true;
  sent_ = 0;
  loop_.set_deadline(*this, kNever);
  // The server may have closed since: look before sending, since afterwards nobody could tell what was served.
  char byte = 0;
  const auto peeked = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (peeked >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
    fail(ErrorCode::kAborted, "the kept connection was closed");
    return;
  }
  write();
}

void UpstreamConnection::write() {
  const auto& settings = loop_.settings();
  is_paused_ = false;
  parser_.emplace(ResponseLimits{settings.max_head_bytes, settings.max_header_fields,
                                 exchange_->reader() == nullptr ? settings.max_body_bytes : std::numeric_limits<std::size_t>::max()},
                  exchange_->request.method == Method::kHead);
  head_ = head_of(exchange_->request);
  sent_ = 0;
  write_some();
  // An answer may come before the body has gone out: 413, for one.
  wait_readable();
}

void UpstreamConnection::write_some() {
  auto& body = exchange_->request.body;
  while (sent_ < head_.size() + body.size()) {
    std::array<iovec, 2> vectors{};
    msghdr message{};
    message.msg_iov = vectors.data();
    if (sent_ < head_.size()) {
      vectors[message.msg_iovlen++] = {head_.data() + sent_, head_.size() - sent_};
    }
    const auto body_sent = sent_ - std::min(sent_, head_.size());
    vectors[message.msg_iovlen++] = {body.data() + body_sent, body.size() - body_sent};
    const auto sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      sent_ += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      socket_.async_wait(asio::ip::tcp::socket::wait_write, [self = shared_from_this(), of = exchange_](std::error_code error) {
        if (!error && !self->is_closed_ && self->exchange_ == of) {
          self->write_some();
        }
      });
      return;
    } else if (errno != EINTR) {
      // What the server said before it closed may still be there to read; without a byte sent there is nothing to wait for.
      if (sent_ == 0) {
        fail(ErrorCode::kAborted, std::format("the request could not be sent: {}", reason(errno)));
      }
      return;
    }
  }
}

void UpstreamConnection::wait_readable() {
  if (is_closed_ || is_waiting_readable_ || is_paused_) {
    return;
  }
  is_waiting_readable_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this()](std::error_code error) {
    self->is_waiting_readable_ = false;
    if (!error && !self->is_closed_) {
      self->on_readable();
    }
  });
}

void UpstreamConnection::on_readable() {
  if (!exchange_) {
    // A free connection becomes readable when the server closes it, or breaks the rules: of no use either way.
    close();
    return;
  }
  const auto buffer = loop_.read_buffer();
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const auto received = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
    if (received < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
        break;
      }
      fail(ErrorCode::kAborted, std::format("the connection broke: {}", reason(errno)));
      return;
    }
    const auto size = static_cast<std::size_t>(received);
    const bool has_started = parser_->has_started();
    switch (received == 0 ? parser_->finish() : parser_->feed({buffer.data(), size})) {
      case ResponseParser::Event::kComplete: answer_is_complete(); return;
      case ResponseParser::Event::kBad:
        if (received == 0) {
          fail(ErrorCode::kAborted, has_started ? "the connection ended in the middle of the answer" : "the connection ended without an answer");
        } else {
          fail(ErrorCode::kDataLoss, std::format("the answer cannot be used: {}", parser_->why()));
        }
        return;
      case ResponseParser::Event::kNeedMore: break;
    }
    if (!hand_on() || size < buffer.size()) {
      break;
    }
  }
  wait_readable();
}

/// To the reader, if there is one, what has come. False: it has no room.
bool UpstreamConnection::hand_on() {
  if (exchange_->reader() == nullptr || !parser_->has_head()) {
    return true;
  }
  if (!exchange_->has_begun) {
    loop_.begin(exchange_, parser_->take_response(), parser_->body_length());
    return true;
  }
  if (auto bytes = parser_->take_body(); !bytes.empty()) {
    is_paused_ = !exchange_->reader()->more(std::move(bytes));
    loop_.set_stall(*exchange_, !is_paused_);
  }
  return !is_paused_;
}

void UpstreamConnection::resume() {
  if (std::exchange(is_paused_, false)) {
    wait_readable();
  }
}

void UpstreamConnection::answer_is_complete() {
  const auto self = shared_from_this();
  if (exchange_->has_begun) {
    static_cast<void>(hand_on());
    is_paused_ = false;
  }
  const auto exchange = std::exchange(exchange_, nullptr);
  const bool is_reusable = parser_->keeps_alive() && sent_ == head_.size() + exchange->request.body.size();
  auto response = parser_->take_response();
  parser_.reset();
  if (is_reusable) {
    loop_.set_deadline(*this, std::chrono::steady_clock::now() + loop_.settings().idle);
    wait_readable();
    loop_.is_free(self);
  } else {
    close();
  }
  loop_.finish(exchange, std::move(response));
}

void UpstreamConnection::fail(ErrorCode code, std::string message) {
  const auto self = shared_from_this();
  const auto exchange = std::exchange(exchange_, nullptr);
  const bool may_resend = was_used_ && sent_ == 0;
  close();
  if (may_resend) {
    loop_.resend(exchange);
  } else {
    const bool was_sent = sent_ > 0;
    loop_.finish(exchange, outrigger::fail(was_sent ? code : ErrorCode::kUnavailable, std::move(message),
                                           std::format("{}:{}", loop_.settings().address, loop_.settings().port)));
  }
}

void UpstreamConnection::deadline_reached() {
  if (exchange_ && !is_connected_) {
    fail(ErrorCode::kUnavailable, "cannot connect in time");
  } else {
    close();
  }
}

void UpstreamConnection::close() {
  if (std::exchange(is_closed_, true)) {
    return;
  }
  const auto self = shared_from_this();
  exchange_ = nullptr;
  std::error_code ignored;
  socket_.close(ignored);
  loop_.forget(self);
}

}  // namespace outrigger::http::internal
