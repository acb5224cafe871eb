// Answers whose body is sent while it is made.
#include <sys/socket.h>

#include "lib/http/internal/connection.h"
#include "lib/http/internal/response_writer.h"

namespace outrigger::http::internal {

bool Connection::write_stream(Slot& slot, bool is_last) {
  auto& stream = *slot.stream_buffer();
  if (!slot.begun) {
    begin_stream(slot, is_last);
    if (!slot.begun) {
      return true;
    }
  }
  // What overran goes at once: its client does not read, so the output would not get shorter.
  if (output().bytes() >= kMaxOutputBytes && !stream.has_overrun()) {
    return false;
  }
  auto taken = stream.take();
  if (slot.begun->framing == BodyFraming::kLength && taken.bytes.size() > slot.begun->left) {
    taken.bytes.resize(slot.begun->left);
    taken.is_cut = true;
  }
  write_piece(slot, std::move(taken.bytes));
  if (taken.is_cut || (taken.is_finished && slot.begun->framing == BodyFraming::kLength && slot.begun->left > 0)) {
    cut_stream(taken.has_overrun ? "stream_buffer" : nullptr);
    return true;
  }
  if (taken.is_finished) {
    if (slot.begun->framing == BodyFraming::kChunked) {
      output().tail() += "0\r\n\r\n";
    }
    slot.forget_callback();
  }
  return taken.is_finished;
}

void Connection::begin_stream(Slot& slot, bool is_last) {
  auto& head = slot.response();
  auto first = std::exchange(head.body, {});
  if (!is_sendable(head)) {
    write_answer(slot.facts(), head, is_last);
    return;
  }
  const auto& facts = slot.facts();
  const auto framing = head.content_length ? BodyFraming::kLength : facts.is_http10 ? BodyFraming::kUntilClose : BodyFraming::kChunked;
  const bool goes_on = facts.keeps_alive && framing != BodyFraming::kUntilClose && !(loop_.is_draining() && is_last);
  const WriteOptions options{.date = loop_.date(),
                             .close = !goes_on,
                             .is_head = facts.is_head,
                             .announce_keep_alive = goes_on && facts.is_http10,
                             .framing = framing,
                             .length = head.content_length};
  if (!goes_on) {
    closes_after_answers_ = true;
  }
  append_head(output().tail(), head, options);
  last_activity_ = std::chrono::steady_clock::now();
  loop_.requests.fetch_add(1, std::memory_order_relaxed);
  loop_.metrics().answered(facts.route, head.status, last_activity_ - facts.received);
  if (sends_body(head, options)) {
    slot.begun = {.framing = framing, .left = head.content_length.value_or(0)};
    loop_.metrics().streams(1);
    if (framing == BodyFraming::kLength && first.size() > slot.begun->left) {
      first.resize(slot.begun->left);
    }
    write_piece(slot, std::move(first));
  } else {
    slot.client_gone();
  }
}

void Connection::write_piece(Slot& slot, std::string bytes) {
  if (bytes.empty()) {
    return;
  }
  auto& out = output();
  if (slot.begun->framing == BodyFraming::kLength) {
    slot.begun->left -= bytes.size();
  }
  if (slot.begun->framing != BodyFraming::kChunked) {
    out.append_body(std::move(bytes));
    return;
  }
  append_chunk_size(out.tail(), bytes.size());
  out.append_body(std::move(bytes));
  out.tail() += "\r\n";
}

void Connection::cut_stream(const char* limit) {
  if (limit != nullptr) {
    loop_.metrics().limit_reached(limit);
  }
  loop_.metrics().stream_was_cut();
  const auto lost = std::exchange(pending_, {});
  const bool ends_with_the_connection = lost.front()->begun->framing == BodyFraming::kUntilClose;
  // The first is what cut itself; the others are answers that the client will not get.
  for (const auto& slot : lost) {
    leave(*slot);
    slot->client_gone();
  }
  closes_after_answers_ = true;
  has_unread_input_ = has_unread_input_ || !leftover_.empty() || is_receiving();
  leftover_.clear();
  continue_is_due_ = false;
  loop_.give_back(std::move(parser_));
  if (ends_with_the_connection) {
    // Only a reset tells an HTTP/1.0 client that this was not the end.
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  if (ends_with_the_connection || limit != nullptr) {
    abort();
  }
}

bool Connection::has_stream_news() const {
  return !is_closed_ && !pending_.empty() && pending_.front()->is_ready() && pending_.front()->stream_buffer() != nullptr &&
         pending_.front()->stream_buffer()->has_news();
}

void Connection::leave(Slot& slot) {
  if (slot.is_deferred()) {
    loop_.in_flight.fetch_sub(1, std::memory_order_relaxed);
    loop_.metrics().in_flight(-1);
  }
  if (slot.begun) {
    loop_.metrics().streams(-1);
  }
  slot.detach();
}

}  // namespace outrigger::http::internal
