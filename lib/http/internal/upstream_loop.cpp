#include "lib/http/internal/upstream_loop.h"

#include <pthread.h>

#include <format>

#include "lib/http/internal/syntax.h"
#include "lib/http/internal/upstream_connection.h"
#include "lib/http/metrics.h"

namespace outrigger::http::internal {
namespace {

constexpr std::size_t kReadBufferBytes = 64U << 10U;

std::string_view result_of(const Result<Response>& result) {
  if (result) {
    return "answered";
  }
  switch (result.error().code) {
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kResourceExhausted: return "overloaded";
    case ErrorCode::kDeadlineExceeded: return "deadline";
    case ErrorCode::kAborted: return "broken";
    case ErrorCode::kDataLoss: return "malformed";
    default: return "invalid";
  }
}

bool is_sendable(const UpstreamRequest& request) {
  const auto is_visible = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; };
  return !request.target.empty() && std::ranges::all_of(request.target, is_visible) &&
         std::ranges::all_of(request.headers, [](const auto& header) { return is_token(header.first) && is_field_value(header.second); });
}

}  // namespace

UpstreamLoop::UpstreamLoop(const UpstreamSettings& settings, asio::ip::tcp::endpoint server, telemetry::Registry& registry)
    : settings_(settings),
      server_(std::move(server)),
      registry_(registry),
      max_connections_(std::max<std::size_t>(1, settings.max_connections / std::max(1U, settings.loops))),
      max_waiting_(settings.max_waiting / std::max(1U, settings.loops)),
      io_(1),
      work_(asio::make_work_guard(io_)),
      mailbox_(std::make_shared<Mailbox>(io_)),
      timer_(io_),
      read_buffer_(kReadBufferBytes),
      connections_gauge_(registry.gauge(metrics::kUpstreamConnections, {{"upstream", settings.name}})),
      waiting_gauge_(registry.gauge(metrics::kUpstreamWaiting, {{"upstream", settings.name}})),
      resent_(registry.counter(metrics::kUpstreamResent, {{"upstream", settings.name}})) {}

UpstreamLoop::~UpstreamLoop() { stop(); }

void UpstreamLoop::start() {
  thread_ = std::thread([this] {
    mailbox_->set_loop_thread(std::this_thread::get_id());
    pthread_setname_np(pthread_self(), std::format("up-{:.12}", settings_.name).c_str());
    io_.run();
  });
}

void UpstreamLoop::stop() {
  if (!thread_.joinable()) {
    return;
  }
  mailbox_->post([this] {
    is_stopping_ = true;
    waiting_.clear();
    const auto connections = connections_;
    for (const auto& connection : connections) {
      connection->close();
    }
    const auto exchanges = exchanges_;
    for (const auto& exchange : exchanges) {
      finish(exchange, fail(ErrorCode::kUnavailable, "the client is stopping"));
    }
    io_.stop();
  });
  thread_.join();
  mailbox_->close();
}

void UpstreamLoop::send(UpstreamRequest request, AnswerTaker taker) {
  mailbox_->run_or_post([this, request = std::move(request), taker = std::move(taker)]() mutable { accept(std::move(request), std::move(taker)); });
}

void UpstreamLoop::run_after(std::chrono::nanoseconds delay, Mailbox::Task task) {
  mailbox_->run_or_post([this, delay, task = std::move(task)]() mutable {
    auto timer = std::make_shared<asio::steady_timer>(io_, delay);
    timer->async_wait([timer, task = std::move(task)](std::error_code error) mutable {
      if (!error) {
        task();
      }
    });
  });
}

void UpstreamLoop::accept(UpstreamRequest request, AnswerTaker taker) {
  const auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->taker = std::move(taker);
  exchanges_.insert(exchange);
  if (is_stopping_) {
    finish(exchange, fail(ErrorCode::kUnavailable, "the client is stopping"));
  } else if (!is_sendable(exchange->request)) {
    finish(exchange, fail(ErrorCode::kInvalidArgument, "the target or a header of the request holds what HTTP cannot carry"));
  } else if (exchange->request.deadline <= std::chrono::steady_clock::now()) {
    finish(exchange, fail(ErrorCode::kDeadlineExceeded, "no time was left to send the request"));
  } else {
    if (exchange_deadlines_.set(*exchange, exchange->request.deadline)) {
      arm_timer();
    }
    dispatch(exchange);
  }
}

void UpstreamLoop::dispatch(const std::shared_ptr<Exchange>& exchange) {
  if (!free_.empty()) {
    const auto connection = std::move(free_.back());
    free_.pop_back();
    connection->send(exchange);
  } else if (connections_.size() < max_connections_) {
    const auto connection = std::make_shared<UpstreamConnection>(*this, io_);
    connections_.insert(connection);
    connections_gauge_.add(1);
    connection->connect(exchange);
  } else if (waiting_.size() < max_waiting_) {
    waiting_.push_back(exchange);
    waiting_gauge_.add(1);
  } else {
    finish(exchange, fail(ErrorCode::kResourceExhausted, std::format("{} requests wait for a connection already", waiting_.size())));
  }
}

void UpstreamLoop::resend(const std::shared_ptr<Exchange>& exchange) {
  resent_.add();
  exchange->connection = nullptr;
  dispatch(exchange);
}

void UpstreamLoop::is_free(const std::shared_ptr<UpstreamConnection>& connection) {
  free_.push_back(connection);
  serve_waiting();
}

void UpstreamLoop::forget(const std::shared_ptr<UpstreamConnection>& connection) {
  connection_deadlines_.remove(*connection);
  std::erase(free_, connection);
  if (connections_.erase(connection) > 0) {
    connections_gauge_.add(-1);
  }
  serve_waiting();
}

void UpstreamLoop::serve_waiting() {
  if (is_stopping_ || waiting_.empty() || (free_.empty() && connections_.size() >= max_connections_)) {
    return;
  }
  const auto next = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_gauge_.add(-1);
  dispatch(next);
}

void UpstreamLoop::finish(const std::shared_ptr<Exchange>& exchange, Result<Response> result) {
  if (exchanges_.erase(exchange) == 0) {
    return;
  }
  exchange_deadlines_.remove(*exchange);
  exchange->connection = nullptr;
  result_counter(result_of(result)).add();
  auto* const reader = exchange->reader();
  if (reader == nullptr) {
    std::get<Upstream::Callback>(exchange->taker)(std::move(result));
  } else if (exchange->has_begun) {
    reader->ended(result ? Result<void>{} : std::unexpected(result.error()));
  } else {
    reader->answered(std::move(result));
  }
}

void UpstreamLoop::begin(const std::shared_ptr<Exchange>& exchange, Response head, std::optional<std::uint64_t> body_length) {
  exchange->has_begun = true;
  set_stall(*exchange, true);
  // Posted and not run at once: a reader may steer from within a call that the connection makes.
  AnswerFlow flow([mailbox = mailbox_, this, weak = std::weak_ptr(exchange)](bool read_on) {
    mailbox->post([this, weak, read_on] {
      if (const auto steered = weak.lock(); steered && exchanges_.contains(steered)) {
        steer(steered, read_on);
      }
    });
  });
  exchange->reader()->began(std::move(head), body_length, std::move(flow));
}

void UpstreamLoop::steer(const std::shared_ptr<Exchange>& exchange, bool read_on) {
  const auto connection = exchange->connection;
  if (read_on) {
    set_stall(*exchange, true);
    connection->resume();
    return;
  }
  exchanges_.erase(exchange);
  exchange_deadlines_.remove(*exchange);
  exchange->connection = nullptr;
  result_counter("cancelled").add();
  connection->close();
}

void UpstreamLoop::set_stall(Exchange& exchange, bool counts) {
  if (exchange_deadlines_.set(exchange, counts ? std::chrono::steady_clock::now() + settings_.stall : DeadlineEntry::kNever)) {
    arm_timer();
  }
}

void UpstreamLoop::set_deadline(UpstreamConnection& connection, DeadlineEntry::Time when) {
  if (connection_deadlines_.set(connection, when)) {
    arm_timer();
  }
}

void UpstreamLoop::arm_timer() {
  const auto next = std::min(exchange_deadlines_.next(), connection_deadlines_.next());
  if (next >= timer_at_) {
    return;
  }
  timer_at_ = next;
  timer_.expires_at(next);
  timer_.async_wait([this](std::error_code error) {
    if (!error) {
      timer_at_ = DeadlineEntry::kNever;
      deadlines_reached();
      arm_timer();
    }
  });
}

void UpstreamLoop::deadlines_reached() {
  const auto now = std::chrono::steady_clock::now();
  while (auto* due = exchange_deadlines_.take_due(now)) {
    // The set owns it; find it there without a second index, since a deadline is the exception.
    const auto found = std::ranges::find_if(exchanges_, [due](const auto& item) { return item.get() == due; });
    if (found == exchanges_.end()) {
      continue;
    }
    const auto exchange = *found;  // NOLINT(performance-unnecessary-copy-initialization): finish() takes it out of the set
    const auto connection = exchange->connection;
    if (std::erase(waiting_, exchange) > 0) {
      waiting_gauge_.add(-1);
    }
    finish(exchange, fail(ErrorCode::kDeadlineExceeded, exchange->has_begun ? "the rest of the answer did not come in time"
                                                        : connection        ? "no answer came in time"
                                                                            : "no connection was free in time"));
    if (connection) {
      connection->close();
    }
  }
  while (auto* due = connection_deadlines_.take_due(now)) {
    static_cast<UpstreamConnection*>(due)->deadline_reached();
  }
}

telemetry::Counter& UpstreamLoop::result_counter(std::string_view result) {
  return registry_.counter(metrics::kUpstreamRequests, {{"upstream", settings_.name}, {"result", std::string(result)}});
}

}  // namespace outrigger::http::internal
