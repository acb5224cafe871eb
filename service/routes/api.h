#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "lib/http/router.h"
#include "lib/telemetry/metrics.h"

namespace outrigger::saga {
class Engine;
}

/// The HTTP API of the service. Errors are RFC 9457 problem details; a wrong body also gets "errors", a list of
/// {"pointer", "detail"}, one for each wrong field.
///
///   POST /v1/orders                    Idempotency-Key required; 202 with the saga, or 200 when it is finished (?wait=5s waits for that)
///   GET  /v1/orders/{id}               by saga id or order id
///   POST /v1/sagas/{definition}        the body is the saga's input; Idempotency-Key required; ?business_key=, ?wait=
///   GET  /v1/sagas/{id}                ?wait=, ?after_version=: long poll
///   GET  /v1/sagas/{id}/events         its history as server-sent events; Last-Event-ID
///   GET  /v1/sagas                     ?status=, ?definition=, ?business_key=, ?older_than=, ?newer_than=, ?cursor=, ?limit=
///   POST /v1/sagas/{id}:retry|skip|complete|compensate|abandon    operator actions; body {"actor", "reason"}
///   GET  /api/health                   {"status":"ok"}, from the I/O loop
///   GET  /openapi.json                 this API as OpenAPI 3.1
///   GET  /api/query?q=                 orders by id, customer or SKU
namespace outrigger::routes {

struct Settings {
  std::chrono::milliseconds max_wait{60'000};  ///< a longer ?wait= is refused
  std::size_t max_list = 500;                  ///< sagas of one page
  std::size_t max_query_results = 50;
  std::size_t max_event_streams = 1'000;              ///< open at once; beyond that 503
  std::chrono::milliseconds event_heartbeat{15'000};  ///< a stream without events sends a comment so often
  std::size_t read_threads = 2;                       ///< reads of the store run here, not on the I/O loop
  std::size_t read_queue = 1'024;                     ///< reads that wait; beyond that 503
};

/// `engine` and `registry` outlive it; it outlives the server that has its routes.
class Api final {
 public:
  Api(Settings settings, saga::Engine& engine, telemetry::Registry& registry);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  void add_to(http::Router& router);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace outrigger::routes
