// The half of a connection that answers, and its turns.
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "lib/http/internal/connection.h"
#include "lib/http/internal/response_writer.h"

namespace outrigger::http::internal {
namespace {

constexpr std::size_t kGatheredSegments = 16;
constexpr int kRoundsPerTurn = 8;
constexpr std::chrono::seconds kLinger{2};
constexpr std::chrono::seconds kFreshGrace{1};

}  // namespace

OutputQueue& Connection::output() {
  if (!output_) {
    output_ = loop_.take_output();
  }
  return *output_;
}

void Connection::push_answer(const RequestFacts& facts, Response& response) {
  if (pending_.empty()) {
    write_answer(facts, response, true);
    return;
  }
  auto slot = std::make_shared<Slot>(*this, loop_.mailbox(), facts, false, 0);
  slot->set_response(std::move(response));
  pending_.push_back(std::move(slot));
}

void Connection::write_answer(const RequestFacts& facts, Response& response, bool is_last) {
  if (!is_sendable(response)) {
    loop_.metrics().handler_failed();
    response = Response::problem(500, reason_phrase(500), "the handler's answer cannot be sent as HTTP");
  }
  const bool goes_on = facts.keeps_alive && !(loop_.is_draining() && is_last);
  const WriteOptions options{.date = loop_.date(), .close = !goes_on, .is_head = facts.is_head, .announce_keep_alive = goes_on && facts.is_http10};
  if (!goes_on) {
    closes_after_answers_ = true;
  }
  auto& out = output();
  append_head(out.tail(), response, options);
  if (sends_body(response, options)) {
    out.append_body(std::move(response.body));
  }
  last_activity_ = std::chrono::steady_clock::now();
  loop_.requests.fetch_add(1, std::memory_order_relaxed);
  loop_.metrics().answered(facts.route, response.status, last_activity_ - facts.received);
}

void Connection::answer_is_ready() {
  if (is_in_turn_ || is_closed_) {
    return;
  }
  end_turn();
}

void Connection::write_ready_answers() {
  while (!pending_.empty() && pending_.front()->is_ready()) {
    const auto slot = pending_.front();
    const bool is_last = pending_.size() == 1 && !is_receiving() && leftover_.empty();
    if (slot->stream_buffer() == nullptr) {
      write_answer(slot->facts(), slot->response(), is_last);
    } else if (!write_stream(*slot, is_last)) {
      return;
    }
    if (pending_.empty()) {
      return;  // the stream was cut, and all behind it with it
    }
    pending_.erase(pending_.begin());
    leave(*slot);
  }
}

void Connection::end_turn() {
  const auto self = shared_from_this();
  is_in_turn_ = true;
  for (int round = 1;; ++round) {
    write_ready_answers();
    send_continue_if_due();
    flush();
    if (has_stream_news() && !is_waiting_writable_) {
      if (round < kRoundsPerTurn) {
        continue;
      }
      // A writer as fast as its client must not keep the loop from everybody else.
      loop_.mailbox()->post([self] { self->answer_is_ready(); });
      break;
    }
    if (leftover_.empty() || !takes_requests()) {
      break;
    }
    process(std::exchange(leftover_, {}));
  }
  is_in_turn_ = false;
  finish_closing();
  if (is_closed_) {
    return;
  }
  if (parser_ && !parser_->has_started()) {
    loop_.give_back(std::move(parser_));
  }
  update_deadline();
  wait_readable();
}

void Connection::flush() {
  bool wrote_anything = write_began_ == Time{};
  while (!is_closed_ && !is_waiting_writable_ && is_sending()) {
    std::array<iovec, kGatheredSegments> vectors{};
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = output_->gather(vectors);
    const auto sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      written_ += static_cast<std::size_t>(sent);
      wrote_anything = true;
      output_->consume(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_writable(wrote_anything);
    } else if (errno != EINTR) {
      abort();
    }
  }
  if (output_ && output_->empty()) {
    loop_.give_back(std::move(output_));
    write_began_ = {};
  }
}

void Connection::wait_writable(bool has_progressed) {
  const auto now = std::chrono::steady_clock::now();
  // The rate is taken over windows, or a fast beginning would pay for hours of nothing.
  if (write_began_ == Time{} || now - write_began_ > loop_.settings().write_deadline) {
    write_began_ = now;
    written_ = 0;
  }
  if (has_progressed) {
    wrote_at_ = now;
  }
  is_waiting_writable_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_write, [self = shared_from_this()](std::error_code error) {
    self->is_waiting_writable_ = false;
    if (!error && !self->is_closed_) {
      self->end_turn();
    }
  });
}

void Connection::finish_closing() {
  if (is_closed_ || is_sending() || !pending_.empty()) {
    return;
  }
  if (!closes_after_answers_) {
    if (is_draining_ && has_served_ && is_idle()) {
      abort();
    }
    return;
  }
  if (input_has_ended_ || !has_unread_input_ || discarded_ >= kMaxDiscardBytes) {
    abort();
  } else if (!is_lingering_) {
    // RFC 9112, 9.6: closing with unread input resets the connection, and the client may never see the answer.
    is_lingering_ = true;
    write_began_ = std::chrono::steady_clock::now();
    ::shutdown(socket_.native_handle(), SHUT_WR);
  }
}

void Connection::abort() {
  if (std::exchange(is_closed_, true)) {
    return;
  }
  const auto self = shared_from_this();
  std::error_code ignored;
  socket_.close(ignored);
  for (const auto& slot : std::exchange(pending_, {})) {
    leave(*slot);
    slot->client_gone();
  }
  loop_.forget(self);
}

void Connection::drain() {
  is_draining_ = true;
  if (is_closed_ || !is_idle()) {
    return;
  }
  // The next request may have crossed our closing: it is served.
  on_readable();
}

bool Connection::is_idle() const { return pending_.empty() && !is_sending() && !is_receiving() && leftover_.empty(); }

DeadlineEntry::Time Connection::receive_deadline() const {
  const auto& settings = loop_.settings();
  if (!parser_->has_head()) {
    return receive_began_ + settings.head_deadline;
  }
  using Seconds = std::chrono::duration<double>;
  const Seconds earned(static_cast<double>(parser_->body_bytes()) /
                       static_cast<double>(std::max<std::size_t>(settings.min_body_bytes_per_second, 1)));
  const auto rate = receive_began_ + std::chrono::seconds(1) + std::chrono::duration_cast<std::chrono::steady_clock::duration>(earned);
  return std::min(rate, body_byte_at_ + settings.body_idle);
}

DeadlineEntry::Time Connection::write_deadline() const {
  const auto& settings = loop_.settings();
  const std::chrono::duration<double> earned(static_cast<double>(written_) /
                                             static_cast<double>(std::max<std::size_t>(settings.min_body_bytes_per_second, 1)));
  return std::min(write_began_ + settings.write_deadline + std::chrono::duration_cast<std::chrono::steady_clock::duration>(earned),
                  wrote_at_ + std::chrono::steady_clock::duration(settings.write_deadline));
}

void Connection::update_deadline() {
  auto when = kNever;
  if (is_lingering_) {
    when = write_began_ + kLinger;
  } else {
    if (is_sending()) {
      when = write_deadline();
    }
    if (is_receiving() && takes_input()) {
      when = std::min(when, receive_deadline());
    }
    if (is_idle()) {
      const auto idle = std::chrono::steady_clock::duration(loop_.settings().idle);
      when = last_activity_ + (is_draining_ ? std::min<std::chrono::steady_clock::duration>(kFreshGrace, idle) : idle);
    }
  }
  loop_.set_deadline(*this, when);
}

void Connection::deadline_reached(Time now) {
  const auto self = shared_from_this();
  if (is_lingering_) {
    abort();
  } else if (is_sending() && write_deadline() <= now) {
    loop_.metrics().limit_reached("write_deadline");
    abort();
  } else if (is_receiving() && receive_deadline() <= now) {
    const bool in_head = !parser_->has_head();
    const bool is_silent = !in_head && body_byte_at_ + loop_.settings().body_idle <= now;
    refuse(in_head     ? Refusal{408, "the head of the request did not arrive in time", "head_deadline"}
           : is_silent ? Refusal{408, "the body of the request stopped arriving", "body_idle"}
                       : Refusal{408, "the body of the request arrives too slowly", "body_rate"});
    end_turn();
  } else if (is_idle()) {
    loop_.metrics().limit_reached("idle");
    abort();
  } else {
    update_deadline();
  }
}

}  // namespace outrigger::http::internal
