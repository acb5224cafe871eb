#include "lib/http/internal/loop.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/post.hpp>

#include <format>

#include "lib/http/internal/connection.h"
#include "lib/http/internal/listener.h"
#include "lib/http/internal/response_writer.h"
#include "lib/telemetry/log.h"

namespace outrigger::http::internal {
namespace {

constexpr std::size_t kReadBufferBytes = 64U << 10U;
constexpr std::size_t kSpareObjects = 64;
constexpr std::size_t kAcceptsPerTurn = 64;
constexpr std::chrono::milliseconds kAcceptPause{50};

}  // namespace

Loop::Loop(ServerShared& shared, unsigned index, int listening_socket)
    : shared_(shared),
      index_(index),
      io_(1),
      work_(asio::make_work_guard(io_)),
      mailbox_(std::make_shared<Mailbox>(io_)),
      acceptor_(io_, family_of(listening_socket) == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), listening_socket),
      accept_timer_(io_),
      deadline_timer_(io_),
      metrics_(shared.registry, shared.settings.name),
      read_buffer_(kReadBufferBytes) {
  metrics_.declare(shared.router);
}

Loop::~Loop() { stop(); }

void Loop::start() {
  wait_accept();
  thread_ = std::thread([this] {
    mailbox_->set_loop_thread(std::this_thread::get_id());
    pthread_setname_np(pthread_self(), std::format("http-{:.7}-{}", shared_.settings.name, index_).substr(0, 15).c_str());
    io_.run();
  });
}

void Loop::stop_accepting() {
  mailbox_->post([this] {
    close_listener();
    const auto open = connections_;
    for (const auto& connection : open) {
      connection->drain();
    }
  });
}

std::size_t Loop::stop() {
  if (!thread_.joinable()) {
    return 0;
  }
  std::size_t cut_off = 0;
  mailbox_->post([this, &cut_off] {
    acceptor_.close();
    const auto open = connections_;
    for (const auto& connection : open) {
      cut_off += connection->unfinished_requests();
      connection->abort();
    }
    io_.stop();
  });
  thread_.join();
  mailbox_->close();
  return cut_off;
}

std::string_view Loop::date() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec != date_second_) {
    date_second_ = now.tv_sec;
    date_ = format_date(now.tv_sec);
  }
  return {date_.data(), date_.size()};
}

Response& Loop::scratch_response() {
  scratch_.status = 200;
  scratch_.headers.clear();
  scratch_.body.clear();
  scratch_.content_length.reset();
  scratch_.content_type = {};
  return scratch_;
}

std::unique_ptr<RequestParser> Loop::take_parser() {
  if (parsers_.empty()) {
    const auto& s = settings();
    return std::make_unique<RequestParser>(ParserLimits{s.max_target_bytes, s.max_head_bytes, s.max_header_fields, s.max_body_bytes});
  }
  auto parser = std::move(parsers_.back());
  parsers_.pop_back();
  return parser;
}

void Loop::give_back(std::unique_ptr<RequestParser> parser) {
  if (parser && parsers_.size() < kSpareObjects) {
    parser->reset();
    parser->shrink();
    parsers_.push_back(std::move(parser));
  }
}

std::unique_ptr<OutputQueue> Loop::take_output() {
  if (outputs_.empty()) {
    return std::make_unique<OutputQueue>();
  }
  auto output = std::move(outputs_.back());
  outputs_.pop_back();
  return output;
}

void Loop::give_back(std::unique_ptr<OutputQueue> output) {
  if (output && outputs_.size() < kSpareObjects) {
    output->clear();
    outputs_.push_back(std::move(output));
  }
}

void Loop::set_deadline(Connection& connection, DeadlineEntry::Time when) {
  if (deadlines_.set(connection, when)) {
    arm_timer();
  }
}

void Loop::arm_timer() {
  if (deadlines_.next() >= timer_at_) {
    return;
  }
  timer_at_ = deadlines_.next();
  deadline_timer_.expires_at(timer_at_);
  deadline_timer_.async_wait([this](std::error_code error) {
    if (error) {
      return;
    }
    timer_at_ = DeadlineEntry::kNever;
    const auto now = std::chrono::steady_clock::now();
    while (auto* entry = deadlines_.take_due(now)) {
      static_cast<Connection*>(entry)->deadline_reached(now);
    }
    arm_timer();
  });
}

void Loop::forget(const std::shared_ptr<Connection>& connection) {
  deadlines_.remove(*connection);
  connections_.erase(connection);
  metrics_.connections(-1);
  if (shared_.connections.fetch_sub(1) == 1) {
    const std::lock_guard lock(shared_.mutex);
    shared_.changed.notify_all();
  }
}

void Loop::list_requests(std::size_t limit, std::move_only_function<void(std::vector<RequestInFlight>)> callback) {
  mailbox_->run_or_post([this, limit, callback = std::move(callback)]() mutable {
    std::vector<RequestInFlight> under_way;
    const auto now = std::chrono::steady_clock::now();
    for (const auto& connection : connections_) {
      connection->list_requests(now, limit, under_way);
    }
    callback(std::move(under_way));
  });
}

void Loop::wait_accept() {
  acceptor_.async_wait(asio::ip::tcp::acceptor::wait_read, [this](std::error_code error) {
    if (error || !acceptor_.is_open()) {
      return;
    }
    accept_some(kAcceptsPerTurn);
  });
}

void Loop::accept_some(std::size_t limit) {
  for (std::size_t i = 0; i < limit; ++i) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int socket = ::accept4(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      take_in(socket, peer);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      pause_accepting();
      return;
    }
    // Anything else concerns the one connection that is no more (accept(2), "Error handling").
  }
  wait_accept();
}

// The queue stays readable while no descriptor is free: waiting for it would spin, so wait for time instead.
void Loop::pause_accepting() {
  metrics_.limit_reached("file_descriptors");
  accept_timer_.expires_after(kAcceptPause);
  accept_timer_.async_wait([this](std::error_code error) {
    if (!error && acceptor_.is_open()) {
      accept_some(kAcceptsPerTurn);
    }
  });
}

void Loop::take_in(int socket, const sockaddr_storage& peer) {
  if (shared_.connections.fetch_add(1) >= shared_.settings.max_connections) {
    shared_.connections.fetch_sub(1);
    refuse_connection(socket);
    return;
  }
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  asio::ip::tcp::socket owned(io_);
  std::error_code error;
  owned.assign(peer.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), socket, error);
  if (error) {
    ::close(socket);
    shared_.connections.fetch_sub(1);
    metrics_.limit_reached("event_registration");
    return;
  }
  auto connection = std::make_shared<Connection>(*this, std::move(owned), format_address(peer));
  connections_.insert(connection);
  metrics_.connections(1);
  connection->start();
}

void Loop::refuse_connection(int socket) {
  metrics_.limit_reached("connections");
  constexpr std::string_view kAnswer = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  // Best effort: the kernel's buffer of a new connection takes it, and nobody waits for a client that is too many.
  [[maybe_unused]] const auto sent = ::send(socket, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(socket, SHUT_WR);
  ::close(socket);
}

void Loop::close_listener() {
  if (!acceptor_.is_open()) {
    return;
  }
  // Clients in the accept queue believe they are connected: closing it before serving them would reset them.
  accept_some(static_cast<std::size_t>(kBacklog) + 1);
  acceptor_.close();
  accept_timer_.cancel();
  const std::lock_guard lock(shared_.mutex);
  --shared_.listeners;
  shared_.changed.notify_all();
}

}  // namespace outrigger::http::internal
