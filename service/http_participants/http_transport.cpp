#include "service/http_participants/http_transport.h"

#include <algorithm>
#include <condition_variable>
#include <format>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include "lib/http/url.h"
#include "service/http_participants/internal/peer.h"
#include "service/http_participants/internal/resolver.h"
#include "service/http_participants/metrics.h"

namespace outrigger::http_participants {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookAround{1'000};

}  // namespace

class HttpTransport::Impl {
 public:
  Impl(Settings settings, telemetry::Registry& registry) : settings_(std::move(settings)), registry_(registry) {}
  ~Impl() { stop(); }

  [[nodiscard]] Result<http::Url> check(std::string_view text) const {
    auto url = http::parse_url(text);
    if (!url) {
      return url;
    }
    const auto names_it = [&](const std::string& allowed) {
      return http::equal_ignoring_case(allowed, url->host) || http::equal_ignoring_case(allowed, url->authority());
    };
    if (!settings_.allowed_hosts.empty() && std::ranges::none_of(settings_.allowed_hosts, names_it)) {
      return fail(ErrorCode::kPermissionDenied, std::format("{} is not among the hosts that may be called", url->authority()), std::string(text));
    }
    return url;
  }

  bool offer(const participant::Command& command) {
    const auto target = find(command.destination);
    if (!target) {
      refuse(command, target.error());
      return true;
    }
    return target->peer->offer(command, target->url);
  }

  void start(saga::ReplySink& replies) {
    replies_ = &replies;
    resolver_ = std::jthread([this](const std::stop_token& stop) { resolve_names(stop); });
  }

  void stop() {
    resolver_.request_stop();
    if (resolver_.joinable()) {
      resolver_.join();
    }
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, peer] : peers_) {
      peer->stop();
    }
  }

 private:
  struct Target {
    Peer* peer = nullptr;
    http::Url url;
  };

  /// URLs come from definitions alone, so there are as many as steps.
  Result<Target> find(const std::string& destination) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = targets_.find(destination); known != targets_.end()) {
      return known->second;
    }
    auto url = check(destination);
    if (!url) {
      return std::unexpected(url.error());
    }
    auto& peer = peers_[url->authority()];
    if (!peer) {
      if (peers_.size() > settings_.max_participants) {
        peers_.erase(url->authority());
        return fail(ErrorCode::kResourceExhausted,
                    std::format("there are {} participants already: raise --http-participants", settings_.max_participants), destination);
      }
      peer = std::make_unique<Peer>(
          Peer::Parts{.settings = settings_, .registry = registry_, .replies = *replies_, .ask_resolver = [this] { wake_resolver(); }}, url->host,
          url->port);
      wake_resolver();
    }
    return targets_[destination] = {.peer = peer.get(), .url = *std::move(url)};
  }

  /// Of a definition that an earlier configuration allowed: its sagas go on as if the participant did not answer.
  void refuse(const participant::Command& command, const Error& error) {
    registry_.counter(metrics::kCommands, {{"participant", "none"}, {"result", "forbidden"}}).add();
    if (!replies_->deliver(participant::reply_to(command, participant::Outcome::kRetry, {}, std::format("not sent: {}", error.to_string())))) {
      registry_.counter(metrics::kRepliesDropped, {{"participant", "none"}}).add();
    }
  }

  void wake_resolver() {
    {
      const std::scoped_lock lock(wake_mutex_);
      is_woken_ = true;
    }
    woken_.notify_one();
  }

  void resolve_names(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (auto* peer : peers()) {
        const auto now = steady_clock::now();
        peer->drop_retired(now);
        if (peer->wants_address(now)) {
          const auto addresses = resolve(peer->host());
          if (addresses) {
            peer->use(*addresses, steady_clock::now());
          } else {
            peer->cannot_resolve(addresses.error().message, steady_clock::now());
          }
        }
      }
      std::unique_lock lock(wake_mutex_);
      woken_.wait_for(lock, stop, kLookAround, [this] { return is_woken_; });
      is_woken_ = false;
    }
  }

  std::vector<Peer*> peers() {
    const std::scoped_lock lock(mutex_);
    std::vector<Peer*> found;
    for (const auto& [name, peer] : peers_) {
      found.push_back(peer.get());
    }
    return found;
  }

  const Settings settings_;
  telemetry::Registry& registry_;
  saga::ReplySink* replies_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;
  std::map<std::string, Target, std::less<>> targets_;
  std::mutex wake_mutex_;
  std::condition_variable_any woken_;
  bool is_woken_ = false;
  std::jthread resolver_;
};

HttpTransport::HttpTransport(Settings settings, telemetry::Registry& registry) : impl_(std::make_unique<Impl>(std::move(settings), registry)) {}
HttpTransport::~HttpTransport() = default;

Result<void> HttpTransport::check(std::string_view url) const {
  return impl_->check(url).transform([](const http::Url&) {});
}
bool HttpTransport::offer(const participant::Command& command) { return impl_->offer(command); }
void HttpTransport::start(saga::ReplySink& replies) { impl_->start(replies); }
void HttpTransport::stop() { impl_->stop(); }

}  // namespace outrigger::http_participants
