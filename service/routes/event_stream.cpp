#include "service/routes/internal/event_stream.h"

#include <charconv>
#include <format>
#include <utility>

#include "lib/http/response_stream.h"
#include "service/routes/internal/answers.h"
#include "service/routes/metrics.h"

namespace outrigger::routes::internal {
namespace {

using http::ResponseStream;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kBeginning = "retry: 1000\n\n";  // milliseconds until a client that lost its stream comes back
constexpr std::string_view kHeartbeat = ":\n\n";

}  // namespace

std::string events_after(const saga::SagaState& saga, std::uint64_t after) {
  std::string text;
  for (const auto& event : saga.history) {
    if (event.sequence <= after) {
      continue;
    }
    if (text.empty() && event.sequence > after + 1) {
      text += std::format(": events {} to {} are no longer kept\n\n", after + 1, event.sequence - 1);
    }
    text += std::format("id: {}\ndata: {}\n\n", event.sequence, saga::to_json(event));
  }
  return text;
}

Parsed<std::uint64_t> last_event_id(const http::Request& request) {
  const auto header = request.header("Last-Event-ID");
  const auto text = header ? std::string(*header) : request.query_parameter("last_event_id").value_or("");
  std::uint64_t id = 0;
  const auto* end = text.data() + text.size();
  if (const auto [stopped, error] = std::from_chars(text.data(), end, id); !text.empty() && (error != std::errc{} || stopped != end)) {
    return std::unexpected(problem(400, "Bad Last-Event-ID", std::format("'{}' is no sequence of an event: leave it out to begin anew", text)));
  }
  return id;
}

struct EventStreams::Shared {
  Shared(Settings with, saga::Engine& runs, telemetry::Registry& registry)
      : settings(with), engine(runs), refused(registry.counter(metrics::kStreamsRefused)) {}

  const Settings settings;
  saga::Engine& engine;
  telemetry::Counter& refused;
  std::atomic<std::size_t> open = 0;
};

/// One stream. Its steps follow one another: events are written, then room is awaited, then the saga; only release() may come from
/// beside them. Whoever is called next holds it.
class EventStreams::Stream final : public std::enable_shared_from_this<EventStreams::Stream> {
 public:
  Stream(std::shared_ptr<Shared> shared, std::string saga_id, std::uint64_t after)
      : shared_(std::move(shared)), id_(std::move(saga_id)), sent_(after) {}
  ~Stream() { release(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void begin(http::Responder responder, http::Response head, const saga::SagaState& saga) {
    stream_ = responder.stream(std::move(head));
    stream_.on_gone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->release();
      }
    });
    advance(saga, kBeginning);
  }

 private:
  void advance(const saga::SagaState& saga, std::string_view before) {
    auto text = std::string(before) + events_after(saga, sent_);
    version_ = saga.version;
    sent_ = saga.history.empty() ? sent_ : std::max(sent_, saga.history.back().sequence);
    const auto written = stream_.write(text.empty() ? std::string(kHeartbeat) : std::move(text));
    if (written == ResponseStream::Write::kEnded) {
      release();
    } else if (saga.is_finished()) {
      finish();
    } else if (written == ResponseStream::Write::kFull) {
      stream_.on_room([self = shared_from_this()] { self->await(); });
    } else {
      await();
    }
  }

  void await() {
    const auto deadline = Clock::now() + shared_->settings.heartbeat;
    shared_->engine.wait(id_, {.after_version = version_, .deadline = deadline},
                         [self = shared_from_this(), deadline](Result<saga::SagaPointer> saga) {
                           if (!saga) {
                             self->stream_ = {};  // cut: what follows is not known
                             self->release();
                           } else if ((*saga)->version == self->version_ && Clock::now() < deadline) {
                             self->finish();  // answered early and unchanged: the engine is stopping
                           } else {
                             self->advance(**saga, {});
                           }
                         });
  }

  void finish() {
    stream_.finish();
    release();
  }

  void release() {
    if (!released_.exchange(true)) {
      --shared_->open;
    }
  }

  const std::shared_ptr<Shared> shared_;
  const std::string id_;
  std::uint64_t sent_;
  std::uint64_t version_ = 0;
  ResponseStream stream_;
  std::atomic<bool> released_ = false;
};

EventStreams::EventStreams(Settings settings, saga::Engine& engine, telemetry::Registry& registry)
    : shared_(std::make_shared<Shared>(settings, engine, registry)) {
  registry.gauge_function(metrics::kStreamsOpen, [weak = std::weak_ptr(shared_)] {
    const auto shared = weak.lock();
    return shared ? static_cast<double>(shared->open.load()) : 0.0;
  });
}

void EventStreams::open(http::Responder responder, const RequestContext& context, const saga::SagaState& saga, std::uint64_t after) {
  if (shared_->open.fetch_add(1) >= shared_->settings.most) {
    --shared_->open;
    shared_->refused.add();
    send(responder, context, problem(503, "Overloaded", "too many streams of events are open: try again shortly, or poll with ?wait="));
    return;
  }
  http::Response head{.status = 200,
                      .headers = {{"Content-Type", "text/event-stream"},
                                  {"Cache-Control", "no-store"},
                                  {"X-Request-Id", context.request_id},
                                  {"traceparent", context.trace.traceparent()}},
                      .body = {},
                      .content_length = std::nullopt};
  std::make_shared<Stream>(shared_, saga.id, after)->begin(std::move(responder), std::move(head), saga);
}

}  // namespace outrigger::routes::internal
