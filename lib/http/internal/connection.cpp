#include "lib/http/internal/connection.h"

#include <sys/socket.h>

#include <cerrno>

#include "lib/telemetry/log.h"

namespace outrigger::http::internal {
namespace {

constexpr int kReadsPerTurn = 4;

}  // namespace

Connection::Connection(Loop& loop, asio::ip::tcp::socket socket, std::string peer_address)
    : loop_(loop),
      socket_(std::move(socket)),
      peer_address_(std::move(peer_address)),
      last_activity_(std::chrono::steady_clock::now()),
      receive_began_(last_activity_) {}

void Connection::start() {
  update_deadline();
  wait_readable();
}

bool Connection::takes_requests() const { return !is_closed_ && pending_.size() < kMaxPipelined && (!output_ || output_->bytes() < kMaxOutputBytes); }

bool Connection::takes_input() const { return takes_requests() && !input_has_ended_ && leftover_.empty() && discarded_ < kMaxDiscardBytes; }

// Readiness is awaited before a buffer is taken: thousands of idle connections share the loop's one.
void Connection::wait_readable() {
  if (is_waiting_readable_ || !takes_input()) {
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

void Connection::on_readable() {
  is_in_turn_ = true;
  read_some();
  is_in_turn_ = false;
  end_turn();
}

void Connection::read_some() {
  const auto buffer = loop_.read_buffer();
  for (int i = 0; i < kReadsPerTurn && takes_input(); ++i) {
    const auto received = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
    if (received < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        abort();
      }
      return;
    }
    if (received == 0) {
      client_has_closed();
      return;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(received));
    if (closes_after_answers_) {
      discarded_ += bytes.size();
      has_unread_input_ = true;
    } else {
      process(bytes);
    }
    // A short read has emptied the socket: asking again would only cost a system call.
    if (is_closed_ || bytes.size() < buffer.size()) {
      return;
    }
  }
}

void Connection::process(std::string_view bytes) {
  last_activity_ = std::chrono::steady_clock::now();
  while (!bytes.empty() && !closes_after_answers_ && takes_requests()) {
    if (!parser_) {
      parser_ = loop_.take_parser();
    }
    if (!parser_->has_started()) {
      receive_began_ = last_activity_;
    }
    const bool in_body = parser_->has_head();
    const auto [event, consumed] = parser_->feed(bytes);
    bytes.remove_prefix(consumed);
    if (in_body && consumed > 0) {
      body_byte_at_ = last_activity_;
    }
    switch (event) {
      case RequestParser::Event::kNeedMore: return;
      case RequestParser::Event::kHeadComplete: head_is_complete(!bytes.empty()); break;
      case RequestParser::Event::kRequestComplete: dispatch(); break;
      case RequestParser::Event::kRefused: refuse(parser_->refusal()); break;
    }
  }
  if (closes_after_answers_) {
    has_unread_input_ = has_unread_input_ || !bytes.empty();
  } else {
    leftover_.append(bytes);
  }
}

RequestFacts Connection::facts_of(std::string_view route) const {
  const auto method = parser_->has_head() && parser_->refusal().status == 0 ? parser_->view().method : Method::kGet;
  return {.method = method,
          .route = route,
          .received = last_activity_,
          .is_head = method == Method::kHead,
          .keeps_alive = parser_->keeps_alive(),
          .is_http10 = parser_->is_http10()};
}

void Connection::head_is_complete(bool more_bytes_are_here) {
  receive_began_ = body_byte_at_ = last_activity_;
  if (!parser_->wants_continue() || more_bytes_are_here) {
    return;
  }
  // The client waits: a request that cannot succeed is answered before its body comes.
  const auto view = parser_->view();
  const auto match = loop_.router().match(view.method, view.path);
  if (match.loop == nullptr && match.deferred == nullptr) {
    dispatch();
    closes_after_answers_ = has_unread_input_ = true;
    return;
  }
  continue_is_due_ = true;
  send_continue_if_due();
}

void Connection::send_continue_if_due() {
  if (continue_is_due_ && pending_.empty() && !is_closed_) {
    continue_is_due_ = false;
    output().tail() += "HTTP/1.1 100 Continue\r\n\r\n";
  }
}

void Connection::dispatch() {
  continue_is_due_ = false;
  has_served_ = true;
  auto view = parser_->view();
  view.peer_address = peer_address_;
  const auto match = loop_.router().match(view.method, view.path);
  view.path_parameters = match.parameters;
  auto facts = facts_of(match.pattern.empty() ? "none" : match.pattern);
  if (match.deferred != nullptr) {
    dispatch_deferred(*match.deferred, view, facts);
  } else {
    auto& response = loop_.scratch_response();
    if (match.loop != nullptr) {
      try {
        (*match.loop)(view, response);
      } catch (const std::exception& error) {
        telemetry::log(telemetry::LogLevel::kError, "a handler threw", {{"route", std::string(facts.route)}, {"error", error.what()}});
        loop_.metrics().handler_failed();
        response = Response::problem(500, reason_phrase(500), "the handler failed; the server's log says more");
      }
    } else if (view.path == "*") {
      response.status = 204;
      response.headers.emplace_back("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    } else if (match.allowed.empty()) {
      response = Response::problem(404, reason_phrase(404), "nothing is served at this path");
    } else {
      response = Response::problem(405, reason_phrase(405), "the path does not serve this method");
      std::string allow;
      for (const auto method : match.allowed) {
        allow += allow.empty() ? "" : ", ";
        allow += name(method);
      }
      response.headers.emplace_back("Allow", std::move(allow));
    }
    push_answer(facts, response);
  }
  if (!facts.keeps_alive) {
    closes_after_answers_ = true;
  }
  if (parser_) {
    parser_->reset();
  }
}

void Connection::dispatch_deferred(const DeferredHandler& handler, const RequestView& view, const RequestFacts& facts) {
  const auto slot = std::make_shared<Slot>(*this, loop_.mailbox(), facts, true, loop_.settings().stream_buffer_bytes);
  pending_.push_back(slot);
  loop_.in_flight.fetch_add(1, std::memory_order_relaxed);
  loop_.metrics().in_flight(1);
  auto without_body = view;
  without_body.body = {};
  Request request(without_body);
  request.body = parser_->take_body();
  try {
    handler(std::move(request), Responder(slot));
  } catch (const std::exception& error) {
    // The Responder answers 500 by itself when the stack unwinds.
    telemetry::log(telemetry::LogLevel::kError, "a handler threw", {{"route", std::string(facts.route)}, {"error", error.what()}});
    loop_.metrics().handler_failed();
  }
}

void Connection::refuse(const Refusal& refusal) {
  if (!refusal.limit.empty()) {
    loop_.metrics().limit_reached(refusal.limit);
  }
  auto response = Response::problem(refusal.status, reason_phrase(refusal.status), refusal.detail);
  auto facts = facts_of("invalid");
  facts.keeps_alive = false;
  push_answer(facts, response);
  closes_after_answers_ = true;
  has_unread_input_ = true;
  continue_is_due_ = false;
  loop_.give_back(std::move(parser_));
}

void Connection::client_has_closed() {
  input_has_ended_ = true;
  loop_.give_back(std::move(parser_));
  // It may have closed only its sending side and still read: answers that come are sent.
  closes_after_answers_ = true;
  const auto waiting = pending_;
  for (const auto& slot : waiting) {
    slot->client_gone();
  }
}

void Connection::list_requests(Time now, std::size_t limit, std::vector<RequestInFlight>& into) const {
  using Stage = RequestInFlight::Stage;
  const auto add = [&](Stage stage, Time since, std::string_view method, std::string_view route) {
    if (into.size() < limit) {
      into.push_back({.listener = loop_.settings().name,
                      .peer = peer_address_,
                      .method = std::string(method),
                      .route = std::string(route),
                      .age = now - since,
                      .stage = stage});
    }
  };
  for (const auto& slot : pending_) {
    const auto stage = slot->begun ? Stage::kStreaming : slot->is_ready() ? Stage::kQueued : Stage::kHandler;
    add(stage, slot->facts().received, name(slot->facts().method), slot->facts().route);
  }
  if (pending_.empty() && is_sending()) {
    add(Stage::kSending, last_activity_, "", "");
  }
  if (is_receiving()) {
    const bool has_head = parser_->has_head() && parser_->refusal().status == 0;
    add(has_head ? Stage::kBody : Stage::kHead, receive_began_, has_head ? name(parser_->view().method) : "", "");
  }
}

std::size_t Connection::unfinished_requests() const {
  return pending_.size() + (is_sending() && pending_.empty() ? 1 : 0) + (is_receiving() ? 1 : 0);
}

}  // namespace outrigger::http::internal
