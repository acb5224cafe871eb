#pragma once

#include <asio/ip/tcp.hpp>

#include <memory>
#include <optional>
#include <string>

#include "lib/http/internal/deadline_queue.h"
#include "lib/http/internal/response_parser.h"
#include "lib/http/internal/upstream_loop.h"

namespace outrigger::http::internal {

/// One connection to the upstream, one exchange at a time. Belongs to its loop's thread.
class UpstreamConnection final : public DeadlineEntry, public std::enable_shared_from_this<UpstreamConnection> {
 public:
  UpstreamConnection(UpstreamLoop& loop, asio::io_context& io);

  void connect(std::shared_ptr<Exchange> exchange);
  void send(std::shared_ptr<Exchange> exchange);  ///< on a free connection
  void resume();                                  ///< the reader of a paused answer has room
  void deadline_reached();                        ///< to connect, or idle
  /// Gives the exchange up without finishing it: its deadline has passed, or the loop stops.
  void close();

 private:
  void write();
  void write_some();
  void wait_readable();
  void on_readable();
  [[nodiscard]] bool hand_on();
  void answer_is_complete();
  void fail(ErrorCode code, std::string message);

  UpstreamLoop& loop_;
  asio::ip::tcp::socket socket_;
  std::shared_ptr<Exchange> exchange_;
  std::optional<ResponseParser> parser_;
  std::string head_;
  std::size_t sent_ = 0;  // of head and body
  bool is_connected_ = false;
  bool was_used_ = false;
  bool is_waiting_readable_ = false;
  bool is_paused_ = false;
  bool is_closed_ = false;
};

}  // namespace outrigger::http::internal
