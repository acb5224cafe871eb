#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/http/responder.h"
#include "lib/telemetry/metrics.h"
#include "service/routes/internal/requests.h"
#include "service/saga/engine.h"

namespace outrigger::routes::internal {

/// The history of a saga as server-sent events (WHATWG HTML, 9.2): each event's id is its sequence, its data the JSON of the saga's
/// history. Empty when there is none beyond `after`. Where older ones are no longer kept, a comment says so. Pure.
[[nodiscard]] std::string events_after(const saga::SagaState& saga, std::uint64_t after);

/// Header Last-Event-ID, or `?last_event_id=` for a first request; 0 when there is none.
[[nodiscard]] Parsed<std::uint64_t> last_event_id(const http::Request& request);

/// Streams of events, a bounded number of them, that hold no thread: each waits for its saga in the engine and for room in its
/// connection. Thread-safe; the engine outlives its streams.
class EventStreams final {
 public:
  struct Settings {
    std::size_t most = 1'000;
    std::chrono::milliseconds heartbeat{15'000};  ///< a comment after so long without an event, so that who has gone is noticed
  };

  EventStreams(Settings settings, saga::Engine& engine, telemetry::Registry& registry);

  /// Answers with the events after `after`, then with each as it is committed, and ends after the one that ends the saga. 503 when
  /// too many are open. When the service stops, the stream ends: the client comes back with the id of its last event.
  void open(http::Responder responder, const RequestContext& context, const saga::SagaState& saga, std::uint64_t after);

 private:
  struct Shared;
  class Stream;
  std::shared_ptr<Shared> shared_;
};

}  // namespace outrigger::routes::internal
