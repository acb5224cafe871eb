#include "service/routes/api.h"

#include "lib/runtime/worker_pool.h"
#include "service/routes/internal/answers.h"
#include "service/routes/internal/event_stream.h"
#include "service/routes/internal/openapi.h"
#include "service/routes/internal/query.h"
#include "service/routes/internal/requests.h"
#include "service/routes/metrics.h"
#include "service/saga/engine.h"

namespace outrigger::routes {
namespace {

using internal::RequestContext;

constexpr std::size_t kMaxQueryBytes = 200;

/// A request on its way to its answer; movable into callbacks.
struct Exchange {
  http::Request request;
  http::Responder responder;
  RequestContext context;

  Exchange(http::Request taken, http::Responder answer_to)
      : request(std::move(taken)), responder(std::move(answer_to)), context(internal::context_of(request)) {}

  void answer(http::Response response) { internal::send(responder, context, std::move(response)); }
};

std::string target_of(const http::Request& request) { return std::string(request.path_parameter("target").value_or("")); }

}  // namespace

struct Api::State : std::enable_shared_from_this<Api::State> {
  State(Settings with, saga::Engine& runs, telemetry::Registry& registry)
      : settings(with),
        engine(runs),
        refused(registry.counter(metrics::kReadsRefused)),
        streams({.most = with.max_event_streams, .heartbeat = with.event_heartbeat}, runs, registry),
        reads(WorkerPool::Settings{.threads = with.read_threads, .queue_capacity = with.read_queue}) {}

  const Settings settings;
  saga::Engine& engine;
  telemetry::Counter& refused;
  internal::EventStreams streams;
  WorkerPool reads;

  /// Runs `work` with the exchange off the I/O loop: the store may have to go to the disk.
  template <class Work>
  void read(Exchange exchange, Work work) {
    auto shared = std::make_shared<Exchange>(std::move(exchange));
    if (const auto submitted = reads.submit([shared, work = std::move(work)] { work(std::move(*shared)); }); !submitted) {
      refused.add();
      shared->answer(internal::error_answer(submitted.error()));
    }
  }

  void start(Exchange exchange, internal::Parsed<saga::StartRequest> request, bool is_order) {
    const auto wait = internal::wait_of(exchange.request, settings.max_wait);
    if (!request || !wait) {
      exchange.answer(request ? wait.error() : request.error());
      return;
    }
    const auto until = std::chrono::steady_clock::now() + wait->value_or(std::chrono::milliseconds{0});
    const bool waits = wait->has_value();
    engine.start(*std::move(request),
                 [self = shared_from_this(), exchange = std::move(exchange), is_order, until, waits](Result<saga::Started> started) mutable {
                   if (!started) {
                     exchange.answer(internal::error_answer(started.error()));
                   } else if (!waits || started->saga->is_finished()) {
                     exchange.answer(internal::started_answer(*started->saga, is_order));
                   } else {
                     self->wait_for_end(std::move(exchange), started->saga, is_order, until);
                   }
                 });
  }

  // It is started, whatever becomes of the wait.
  void wait_for_end(Exchange exchange, const saga::SagaPointer& started, bool is_order, MonotonicTime until) {
    engine.wait(started->id, {.after_version = std::nullopt, .deadline = until},
                [exchange = std::move(exchange), is_order, started](Result<saga::SagaPointer> ended) mutable {
                  exchange.answer(internal::started_answer(ended ? **ended : *started, is_order));
                });
  }

  void show(Exchange exchange, const std::string& id, bool is_order) {
    const auto wait = internal::wait_of(exchange.request, settings.max_wait);
    const auto version = internal::after_version(exchange.request);
    if (!wait || !version) {
      exchange.answer(wait ? version.error() : wait.error());
      return;
    }
    const auto found = find(id, is_order);
    if (!found) {
      exchange.answer(internal::error_answer(found.error()));
      return;
    }
    if (!wait->has_value()) {
      exchange.answer(internal::saga_answer(**found, is_order));
      return;
    }
    engine.wait((*found)->id, {.after_version = *version, .deadline = std::chrono::steady_clock::now() + **wait},
                [exchange = std::move(exchange), is_order](Result<saga::SagaPointer> saga) mutable {
                  exchange.answer(saga ? internal::saga_answer(**saga, is_order) : internal::error_answer(saga.error()));
                });
  }

  void events(Exchange exchange) {
    const auto after = internal::last_event_id(exchange.request);
    if (!after) {
      exchange.answer(after.error());
      return;
    }
    const auto saga = engine.get(target_of(exchange.request));
    if (!saga) {
      exchange.answer(internal::error_answer(saga.error()));
      return;
    }
    streams.open(std::move(exchange.responder), exchange.context, **saga, *after);
  }

  // Clients know an order by their own id too.
  [[nodiscard]] Result<saga::SagaPointer> find(const std::string& id, bool is_order) const {
    if (is_order && !saga::partition_of_id(id)) {
      return engine.find_by_business_key(internal::kOrderDefinition, id);
    }
    return engine.get(id);
  }

  void post_saga(Exchange exchange) {
    const auto target = target_of(exchange.request);
    if (!target.contains(':')) {
      auto request = internal::saga_start(exchange.request, exchange.context, target);
      start(std::move(exchange), std::move(request), false);
      return;
    }
    auto action = internal::action_of(exchange.request, target);
    if (!action) {
      exchange.answer(std::move(action).error());
      return;
    }
    engine.act(std::move(action->saga_id), std::move(action->action), [exchange = std::move(exchange)](Result<saga::SagaPointer> saga) mutable {
      exchange.answer(saga ? internal::saga_answer(**saga, false) : internal::error_answer(saga.error()));
    });
  }

  void list(Exchange exchange) const {
    const auto query = internal::list_query(exchange.request, settings.max_list, wall_now());
    if (!query) {
      exchange.answer(query.error());
      return;
    }
    const auto page = engine.list(*query);
    exchange.answer(page ? internal::list_answer(*page) : internal::error_answer(page.error()));
  }

  void query(Exchange exchange) const {
    const auto text = exchange.request.query_parameter("q");
    if (!text || text->empty() || text->size() > kMaxQueryBytes) {
      exchange.answer(internal::problem(400, "Bad query parameter", "q: give an order id, a customer or a SKU, such as /api/query?q=PADDLE-OAK"));
      return;
    }
    exchange.answer(internal::query_answer(
        *text, settings, [this](const journal::ListQuery& wanted) { return engine.list(wanted); },
        [this](std::string_view id) { return engine.get(id); }));
  }
};

Api::Api(Settings settings, saga::Engine& engine, telemetry::Registry& registry) : state_(std::make_shared<State>(settings, engine, registry)) {
  registry.gauge_function(metrics::kReadsQueued, [weak = std::weak_ptr(state_)] {
    const auto state = weak.lock();
    return state ? static_cast<double>(state->reads.queued()) : 0.0;
  });
}

Api::~Api() = default;

void Api::add_to(http::Router& router) {
  using http::Method;
  auto* state = state_.get();
  router.handle(Method::kGet, "/api/health", [](const http::RequestView&, http::Response& response) {
    response.headers.emplace_back("Content-Type", "application/json");
    response.body = R"({"status":"ok"})";
  });
  router.handle(Method::kGet, "/openapi.json", [](const http::RequestView&, http::Response& response) {
    response.headers.emplace_back("Content-Type", "application/json");
    response.body = internal::openapi_document();
  });
  router.defer(Method::kPost, "/v1/orders", [state](http::Request request, http::Responder responder) {
    Exchange exchange(std::move(request), std::move(responder));
    auto parsed = internal::order_start(exchange.request, exchange.context);
    state->start(std::move(exchange), std::move(parsed), true);
  });
  router.defer(Method::kGet, "/v1/orders/:target", [state](http::Request request, http::Responder responder) {
    state->read({std::move(request), std::move(responder)}, [state](Exchange exchange) {
      const auto id = target_of(exchange.request);
      state->show(std::move(exchange), id, true);
    });
  });
  router.defer(Method::kPost, "/v1/sagas/:target",
               [state](http::Request request, http::Responder responder) { state->post_saga({std::move(request), std::move(responder)}); });
  router.defer(Method::kGet, "/v1/sagas/:target", [state](http::Request request, http::Responder responder) {
    state->read({std::move(request), std::move(responder)}, [state](Exchange exchange) {
      const auto id = target_of(exchange.request);
      state->show(std::move(exchange), id, false);
    });
  });
  router.defer(Method::kGet, "/v1/sagas/:target/events", [state](http::Request request, http::Responder responder) {
    state->read({std::move(request), std::move(responder)}, [state](Exchange exchange) { state->events(std::move(exchange)); });
  });
  router.defer(Method::kGet, "/v1/sagas", [state](http::Request request, http::Responder responder) {
    state->read({std::move(request), std::move(responder)}, [state](Exchange exchange) { state->list(std::move(exchange)); });
  });
  router.defer(Method::kGet, "/api/query", [state](http::Request request, http::Responder responder) {
    state->read({std::move(request), std::move(responder)}, [state](Exchange exchange) { state->query(std::move(exchange)); });
  });
}

}  // namespace outrigger::routes
