#include "service/http_participants/internal/peer.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <format>

#include "lib/telemetry/log.h"
#include "service/http_participants/metrics.h"

namespace outrigger::http_participants {
namespace {

using namespace std::chrono_literals;
using participant::Command;
using participant::Outcome;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A lane whose queue is full empties it within a commit or two; beyond this the command is sent again anyway.
constexpr milliseconds kDeliverFor = 500ms;
constexpr milliseconds kDeliverPause = 2ms;
constexpr milliseconds kFastestPoll = 50ms;
constexpr milliseconds kFastestLookUp = 5s;
constexpr std::size_t kMaxHeadBytes = 16U << 10U;
// A client whose address was replaced answers what it was asked for this long. Few of them: each has a thread.
constexpr milliseconds kRetiredFor = 30s;
constexpr std::size_t kMaxRetired = 4;

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

milliseconds ceil(std::chrono::nanoseconds time) { return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(time)); }

}  // namespace

struct Peer::Call {
  Command command;
  http::Url url;  ///< where it is posted; once accepted, where to ask
  milliseconds timeout{};
  MonotonicTime deadline;
  MonotonicTime sent_at;
  CircuitBreaker::Permit permit;
  std::shared_ptr<void> in_progress;  ///< while it is asked after: counts, wherever it ends

  [[nodiscard]] bool is_expired() const { return deadline <= steady_clock::now(); }
};

Peer::Peer(Parts parts, std::string host, std::uint16_t port)
    : parts_(std::move(parts)),
      host_(std::move(host)),
      port_(port),
      name_(http::Url{host_, port_, {}}.authority()),
      in_flight_gauge_(parts_.registry.gauge(metrics::kInFlight, labels())),
      in_progress_gauge_(parts_.registry.gauge(metrics::kInProgress, labels())),
      queue_gauge_(parts_.registry.gauge(metrics::kQueueLength, labels())),
      circuit_gauge_(parts_.registry.gauge(metrics::kCircuitState, labels())),
      circuit_opened_(parts_.registry.counter(metrics::kCircuitOpened, labels())),
      queue_full_(parts_.registry.counter(metrics::kQueueFull, labels())),
      polls_(parts_.registry.counter(metrics::kPolls, labels())),
      dropped_(parts_.registry.counter(metrics::kRepliesDropped, labels())),
      duration_(parts_.registry.histogram(metrics::kDuration, telemetry::kLatencySeconds, labels())),
      breaker_(parts_.settings.circuit),
      is_literal_(is_address(host_)) {
  if (is_literal_) {
    use({host_}, steady_clock::now());
  }
}

Peer::~Peer() { stop(); }

telemetry::Labels Peer::labels() const { return {{"participant", name_}}; }

void Peer::count(std::string_view result) {
  parts_.registry.counter(metrics::kCommands, {{"participant", name_}, {"result", std::string(result)}}).add();
}

bool Peer::offer(const Command& command, const http::Url& url) {
  const auto timeout = command.deadline - wall_now();
  auto call = std::make_unique<Call>();
  call->command = command;
  call->url = url;
  call->timeout = timeout;
  call->deadline = steady_clock::now() + timeout;
  const std::scoped_lock lock(mutex_);
  if (queue_.size() >= parts_.settings.queue_capacity || is_stopping_) {
    queue_full_.add();
    return false;
  }
  queue_.push_back(std::move(call));
  queue_gauge_.set(static_cast<double>(queue_.size()));
  schedule_pump();
  return true;
}

void Peer::schedule_pump() {
  if (upstream_ && !is_pump_scheduled_ && !queue_.empty()) {
    is_pump_scheduled_ = true;
    upstream_->run_after(0ns, [this] { pump(); });
  }
}

/// Sends what there is room for. What may not be sent is answered at once, so that a broken participant holds nobody up.
void Peer::pump() {
  std::vector<std::unique_ptr<Call>> to_send;
  std::vector<std::unique_ptr<Call>> held_off;
  std::size_t expired = 0;
  milliseconds hold_off{0};
  {
    const std::scoped_lock lock(mutex_);
    is_pump_scheduled_ = false;
    const auto now = steady_clock::now();
    while (!queue_.empty() && in_flight_ < parts_.settings.concurrency) {
      auto call = std::move(queue_.front());
      queue_.pop_front();
      if (call->deadline <= now) {
        ++expired;  // the engine's own timer says so to the saga
      } else if (const auto permit = breaker_.admit(now)) {
        call->permit = *permit;
        ++in_flight_;
        to_send.push_back(std::move(call));
      } else {
        hold_off = ceil(breaker_.retry_at() - now);
        held_off.push_back(std::move(call));
      }
    }
    queue_gauge_.set(static_cast<double>(queue_.size()));
    in_flight_gauge_.set(static_cast<double>(in_flight_));
    show_circuit();
  }
  for (std::size_t i = 0; i < expired; ++i) {
    count("expired");
  }
  for (const auto& call : held_off) {
    count("circuit_open");
    reply(call->command, {.kind = Verdict::Kind::kRetry,
                          .result = {},
                          .reason = std::format("{} fails: not sent while its circuit breaker is open", name_),
                          .retry_after = hold_off});
  }
  for (auto& call : to_send) {
    send(std::move(call));
  }
}

void Peer::send(std::unique_ptr<Call> call) {
  http::Upstream* upstream = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    upstream = upstream_.get();  // lives on for as long as any loop thread that could be here
  }
  if (upstream == nullptr) {
    return;  // stopping
  }
  call->sent_at = steady_clock::now();
  auto request = make_request(call->command, call->url, call->sent_at, call->deadline);
  upstream->send(std::move(request), [this, call = std::move(call)](const Answer& answer) mutable { answered(std::move(call), answer); });
}

Verdict Peer::settle(const Call& call, const http::Url& url, const Answer& answer) {
  auto verdict = judge(url, answer, wall_now());
  bool is_unreachable = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto before = breaker_.state();
    if (verdict.is_healthy()) {
      breaker_.succeeded(call.permit);
    } else {
      breaker_.failed(call.permit, steady_clock::now());
    }
    if (breaker_.state() != before) {
      telemetry::log(telemetry::LogLevel::kWarning,
                     verdict.is_healthy() ? "a participant answers again" : "a participant fails: its circuit breaker is open",
                     {{"participant", name_}, {"reason", verdict.reason}});
      if (breaker_.state() == CircuitBreaker::State::kOpen) {
        circuit_opened_.add();
      }
    }
    show_circuit();
    is_unreachable = verdict.result == "unreachable" && !is_literal_ && !is_stopping_;
    is_address_doubtful_ = is_address_doubtful_ || is_unreachable;
  }
  if (is_unreachable) {
    parts_.ask_resolver();
  }
  return verdict;
}

void Peer::answered(std::unique_ptr<Call> call, const Answer& answer) {
  duration_.observe(steady_clock::now() - call->sent_at);
  auto verdict = settle(*call, call->url, answer);
  {
    const std::scoped_lock lock(mutex_);
    --in_flight_;
    in_flight_gauge_.set(static_cast<double>(in_flight_));
    schedule_pump();
  }
  count(verdict.result);
  if (verdict.kind == Verdict::Kind::kInProgress) {
    in_progress(std::move(call), std::move(verdict));
  } else {
    reply(call->command, std::move(verdict));
  }
}

void Peer::in_progress(std::unique_ptr<Call> call, Verdict verdict) {
  if (!call->in_progress) {
    if (in_progress_.fetch_add(1) >= parts_.settings.max_in_progress) {
      in_progress_.fetch_sub(1);
      reply(call->command, {.kind = Verdict::Kind::kUnknown, .result = {}, .reason = "accepted, but too many commands are asked after already"});
      return;
    }
    in_progress_gauge_.add(1);
    call->in_progress = std::shared_ptr<void>(this, [this](void*) {
      in_progress_.fetch_sub(1);
      in_progress_gauge_.add(-1);
    });
    // Said once an attempt: the engine then waits for the timeout anew.
    call->deadline = steady_clock::now() + call->timeout;
    reply(call->command, verdict);
  }
  call->url = *std::move(verdict.location);
  poll_later(std::move(call), verdict.retry_after.value_or(parts_.settings.poll_interval));
}

void Peer::poll_later(std::unique_ptr<Call> call, std::chrono::nanoseconds after) {
  after = std::max<std::chrono::nanoseconds>(after, kFastestPoll);
  if (call->deadline <= steady_clock::now() + after) {
    return;  // the engine's timer sends it again, and the participant answers from its inbox
  }
  run_after(after, [this, call = std::move(call)]() mutable { poll(std::move(call)); });
}

void Peer::poll(std::unique_ptr<Call> call) {
  http::Upstream* upstream = nullptr;
  std::optional<CircuitBreaker::Permit> permit;
  std::chrono::nanoseconds hold_off{0};
  const auto now = steady_clock::now();
  {
    const std::scoped_lock lock(mutex_);
    upstream = upstream_.get();
    permit = breaker_.admit(now);
    hold_off = breaker_.retry_at() - now;
    show_circuit();
  }
  if (upstream == nullptr) {
    return;
  }
  if (!permit) {
    poll_later(std::move(call), hold_off);
    return;
  }
  call->permit = *permit;
  polls_.add();
  auto request = make_poll(call->command, call->url, now, call->deadline);
  upstream->send(std::move(request), [this, call = std::move(call)](const Answer& answer) mutable { poll_answered(std::move(call), answer); });
}

void Peer::poll_answered(std::unique_ptr<Call> call, const Answer& answer) {
  auto verdict = settle(*call, call->url, answer);
  switch (verdict.kind) {
    case Verdict::Kind::kInProgress: in_progress(std::move(call), std::move(verdict)); return;
    case Verdict::Kind::kRetry: poll_later(std::move(call), *verdict.retry_after); return;
    case Verdict::Kind::kSuccess:
    case Verdict::Kind::kFailed:
    case Verdict::Kind::kUnknown: break;
  }
  count(verdict.result);
  reply(call->command, std::move(verdict));
}

/// An unknown outcome is RETRY without a time to the engine: it counts the step as possibly done, and sends the same command again
/// when the step's own backoff is over.
void Peer::reply(const Command& command, Verdict verdict) {
  auto outcome = Outcome::kRetry;
  switch (verdict.kind) {
    case Verdict::Kind::kSuccess: outcome = Outcome::kSuccess; break;
    case Verdict::Kind::kFailed: outcome = Outcome::kFailed; break;
    case Verdict::Kind::kInProgress: outcome = Outcome::kInProgress; break;
    case Verdict::Kind::kRetry: break;
    case Verdict::Kind::kUnknown: verdict.reason = std::format("outcome unknown: {}: {}", name_, verdict.reason); break;
  }
  auto made = participant::reply_to(command, outcome, std::move(verdict.output), std::move(verdict.reason));
  made.retry_after = verdict.kind == Verdict::Kind::kRetry ? verdict.retry_after : std::nullopt;
  deliver(std::move(made), steady_clock::now() + kDeliverFor);
}

void Peer::deliver(participant::Reply reply, MonotonicTime until) {
  const auto delivered = parts_.replies.deliver(reply);
  if (delivered) {
    return;
  }
  if (delivered.error().code != ErrorCode::kResourceExhausted || steady_clock::now() >= until) {
    dropped_.add();
    return;
  }
  run_after(kDeliverPause, [this, reply = std::move(reply), until]() mutable { deliver(std::move(reply), until); });
}

void Peer::run_after(std::chrono::nanoseconds delay, std::move_only_function<void()> task) {
  const std::scoped_lock lock(mutex_);
  if (upstream_) {
    upstream_->run_after(delay, std::move(task));
  }
}

void Peer::show_circuit() { circuit_gauge_.set(static_cast<double>(breaker_.state())); }

bool Peer::wants_address(MonotonicTime now) const {
  const std::scoped_lock lock(mutex_);
  if (is_literal_ || is_stopping_) {
    return false;
  }
  const auto pause = is_address_doubtful_ ? std::min(kFastestLookUp, parts_.settings.resolve_interval) : parts_.settings.resolve_interval;
  return resolved_at_ == MonotonicTime{} || now >= resolved_at_ + pause;
}

void Peer::use(const std::vector<std::string>& addresses, MonotonicTime now) {
  const std::scoped_lock lock(mutex_);
  const auto known = std::ranges::find(addresses, address_);
  resolved_at_ = now;
  const bool is_still_good = known != addresses.end() && !is_address_doubtful_;
  if (is_stopping_ || is_still_good || retired_.size() >= kMaxRetired) {
    return;
  }
  is_address_doubtful_ = false;
  const auto& next = known == addresses.end() || std::next(known) == addresses.end() ? addresses.front() : *std::next(known);
  if (next == address_) {
    return;
  }
  const auto& settings = parts_.settings;
  auto upstream = std::make_unique<http::Upstream>(http::UpstreamSettings{.name = name_,
                                                                          .address = next,
                                                                          .port = port_,
                                                                          .max_connections = settings.concurrency,
                                                                          .max_waiting = settings.concurrency + settings.max_in_progress,
                                                                          .max_body_bytes = settings.max_answer_bytes,
                                                                          .max_head_bytes = kMaxHeadBytes,
                                                                          .connect_deadline = settings.connect_timeout},
                                                   parts_.registry);
  if (const auto started = upstream->start(); !started) {
    telemetry::log(telemetry::LogLevel::kError, "a participant's address cannot be used",
                   {{"participant", name_}, {"error", started.error().to_string()}});
    return;
  }
  if (upstream_) {
    retired_.push_back({std::move(upstream_), now});
  }
  upstream_ = std::move(upstream);
  address_ = next;
  is_pump_scheduled_ = false;
  schedule_pump();
}

void Peer::cannot_resolve(const std::string& why, MonotonicTime now) {
  std::deque<std::unique_ptr<Call>> unsent;
  {
    const std::scoped_lock lock(mutex_);
    resolved_at_ = now;
    is_address_doubtful_ = true;
    if (!upstream_) {
      unsent.swap(queue_);
      queue_gauge_.set(0);
    }
  }
  for (const auto& call : unsent) {
    count("unresolved");
    const auto made =
        participant::reply_to(call->command, Outcome::kRetry, {}, std::format("not sent: the host {} cannot be resolved: {}", host_, why));
    if (!parts_.replies.deliver(made)) {
      dropped_.add();
    }
  }
}

void Peer::drop_retired(MonotonicTime now) {
  std::vector<Retired> gone;
  const std::scoped_lock lock(mutex_);
  const auto first = std::ranges::partition(retired_, [&](const Retired& each) { return now < each.at + kRetiredFor; }).begin();
  std::ranges::move(first, retired_.end(), std::back_inserter(gone));
  retired_.erase(first, retired_.end());
}

void Peer::stop() {
  std::vector<Retired> retired;
  std::unique_ptr<http::Upstream> upstream;
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    queue_.clear();
    queue_gauge_.set(0);
    retired = std::exchange(retired_, {});
    upstream = std::move(upstream_);
  }
  retired.clear();  // before the one that their threads may still use
  upstream.reset();
}

}  // namespace outrigger::http_participants
