#pragma once

#include <asio/ip/tcp.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/http/internal/deadline_queue.h"
#include "lib/http/internal/loop.h"
#include "lib/http/internal/slot.h"

namespace outrigger::http::internal {

/// One client: reads requests, keeps their answers in order, writes. Belongs to its loop's thread.
///
/// Everything that happens (readable, writable, an answer, a deadline) is one turn; a turn ends with one gathered write, and
/// with waiting for what comes next. Parser and output come from the loop's pools and go back when nothing is under way, so
/// that an idle connection is this object and a socket.
class Connection final : public DeadlineEntry, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Loop& loop, asio::ip::tcp::socket socket, std::string peer_address);

  void start();
  void answer_is_ready();
  void deadline_reached(Time now);
  void drain();  ///< serves what has arrived, then closes as soon as nothing is under way
  void abort();  ///< closes at once

  [[nodiscard]] std::size_t unfinished_requests() const;
  void list_requests(Time now, std::size_t limit, std::vector<RequestInFlight>& into) const;  ///< appends; `into` holds at most `limit`

 private:
  static constexpr std::size_t kMaxPipelined = 32;
  static constexpr std::size_t kMaxOutputBytes = 256U << 10U;
  static constexpr std::size_t kMaxDiscardBytes = 1U << 20U;

  // Reading.
  void wait_readable();
  void on_readable();
  void read_some();
  void process(std::string_view bytes);
  void head_is_complete(bool more_bytes_are_here);
  void dispatch();
  void dispatch_deferred(const DeferredHandler& handler, const RequestView& view, const RequestFacts& facts);
  void refuse(const Refusal& refusal);
  void client_has_closed();
  [[nodiscard]] bool takes_requests() const;  ///< back-pressure: not while too many wait for their answers, or too much for the client
  [[nodiscard]] bool takes_input() const;
  [[nodiscard]] RequestFacts facts_of(std::string_view route) const;

  // Answering.
  void push_answer(const RequestFacts& facts, Response& response);
  void write_answer(const RequestFacts& facts, Response& response, bool is_last);
  void write_ready_answers();
  void send_continue_if_due();
  OutputQueue& output();

  // Streaming.
  bool write_stream(Slot& slot, bool is_last);  ///< whether the stream is over
  void begin_stream(Slot& slot, bool is_last);
  void write_piece(Slot& slot, std::string bytes);
  void cut_stream(const char* limit);  ///< ends the connection behind what is in the output: no answer follows
  [[nodiscard]] bool has_stream_news() const;
  void leave(Slot& slot);  ///< its answer is over, or will not come

  // Turns.
  void end_turn();
  void flush();
  void wait_writable(bool has_progressed);
  void finish_closing();
  void update_deadline();
  [[nodiscard]] Time receive_deadline() const;
  [[nodiscard]] Time write_deadline() const;
  [[nodiscard]] bool is_sending() const { return output_ && !output_->empty(); }
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] bool is_receiving() const { return parser_ && parser_->has_started(); }

  Loop& loop_;
  asio::ip::tcp::socket socket_;
  std::string peer_address_;
  std::unique_ptr<RequestParser> parser_;  // while a request is being received
  std::unique_ptr<OutputQueue> output_;    // while an answer is on its way
  std::vector<std::shared_ptr<Slot>> pending_;
  std::string leftover_;  // received, but not to be parsed before earlier requests are answered

  Time last_activity_;
  Time receive_began_;  // of the head, then of the body
  Time body_byte_at_{};
  Time write_began_{};
  Time wrote_at_{};
  std::size_t written_ = 0;    // since write_began_
  std::size_t discarded_ = 0;  // after the last request

  bool is_in_turn_ = false;
  bool is_waiting_readable_ = false;
  bool is_waiting_writable_ = false;
  bool has_served_ = false;
  bool is_draining_ = false;
  bool input_has_ended_ = false;  // the client has closed its side
  bool continue_is_due_ = false;
  bool closes_after_answers_ = false;  // no further request is read
  bool has_unread_input_ = false;      // closing now would reset the connection and lose the answer
  bool is_lingering_ = false;
  bool is_closed_ = false;
};

}  // namespace outrigger::http::internal
