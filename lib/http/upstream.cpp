#include "lib/http/upstream.h"

#include <asio/ip/address.hpp>

#include <atomic>
#include <format>

#include "lib/http/internal/upstream_loop.h"

namespace outrigger::http {

struct Upstream::State {
  UpstreamSettings settings;
  telemetry::Registry& registry;
  std::vector<std::unique_ptr<internal::UpstreamLoop>> loops;
  std::atomic<std::size_t> next{0};

  internal::UpstreamLoop& loop() {
    if (loops.empty()) {
      impossible("an upstream client is used before it was started", settings.name);
    }
    return *loops[next.fetch_add(1, std::memory_order_relaxed) % loops.size()];
  }
};

Upstream::Upstream(UpstreamSettings settings, telemetry::Registry& registry) : state_(new State{std::move(settings), registry, {}, 0}) {}

Upstream::~Upstream() {
  for (const auto& loop : state_->loops) {
    loop->stop();
  }
}

Result<void> Upstream::start() {
  const auto& settings = state_->settings;
  std::error_code error;
  const auto address = asio::ip::make_address(settings.address, error);
  if (error || settings.port == 0) {
    return fail(ErrorCode::kInvalidArgument,
                std::format("'{}' port {} is no address: give an IP literal such as 127.0.0.1 and a port", settings.address, settings.port));
  }
  for (unsigned i = 0; i < std::max(1U, settings.loops); ++i) {
    state_->loops.push_back(std::make_unique<internal::UpstreamLoop>(settings, asio::ip::tcp::endpoint(address, settings.port), state_->registry));
  }
  for (const auto& loop : state_->loops) {
    loop->start();
  }
  return {};
}

void Upstream::send(UpstreamRequest request, Callback callback) { state_->loop().send(std::move(request), std::move(callback)); }

void Upstream::read(UpstreamRequest request, std::shared_ptr<AnswerReader> reader) { state_->loop().send(std::move(request), std::move(reader)); }

void Upstream::run_after(std::chrono::nanoseconds delay, std::move_only_function<void()> task) { state_->loop().run_after(delay, std::move(task)); }

}  // namespace outrigger::http
