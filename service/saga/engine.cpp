#include "service/saga/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <format>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "lib/runtime/cpu.h"
#include "lib/runtime/ids.h"
#include "lib/telemetry/log.h"
#include "lib/telemetry/metrics.h"
#include "service/saga/internal/engine_gauges.h"
#include "service/saga/internal/lane.h"
#include "service/saga/internal/request.h"
#include "service/saga/internal/waiters.h"

namespace outrigger::saga {
namespace {

constexpr std::chrono::seconds kDrain{10};
constexpr std::chrono::seconds kRevoke{60};

std::unexpected<Error> stopping() { return fail(ErrorCode::kUnavailable, "the service is stopping: try another instance"); }

std::unexpected<Error> overloaded(std::string_view what) {
  return fail(ErrorCode::kResourceExhausted, std::format("too many {} wait: try again shortly", what));
}

}  // namespace

class Engine::Impl final : public journal::Listener {
 public:
  Impl(EngineSettings settings, Catalog catalog, journal::Journal& journal, CommandTransport* transport, telemetry::Registry& registry)
      : settings_(std::move(settings)),
        catalog_(std::move(catalog)),
        current_catalog_(std::make_shared<const Catalog>(catalog_)),
        journal_(journal),
        transport_(transport),
        recorder_(registry),
        gauges_(registry, settings_.clock),
        waiters_(settings_.max_waiters, [this](std::string_view id) { return get(id); }) {
    if (transport_ == nullptr && !journal_.delivers_commands()) {
      impossible("saga engine", "the journal delivers no commands and there is no transport");
    }
    if (journal_.delivers_commands()) {
      transport_ = nullptr;
    }
    for (const auto& definition : catalog_.all()) {
      recorder_.expect(definition->name);
    }
  }

  [[nodiscard]] Result<void> run() {
    const auto count = settings_.lanes != 0 ? settings_.lanes : std::min(4U, available_cpus());
    for (unsigned i = 0; i < std::min(count, journal_.partitions()); ++i) {
      auto writer = journal_.open_lane(i);
      if (!writer) {
        return std::unexpected(writer.error());
      }
      auto lane = std::make_shared<Lane>(Lane::Parts{.settings = settings_,
                                                     .catalog = catalog_,
                                                     .journal = journal_,
                                                     .transport = transport_,
                                                     .recorder = recorder_,
                                                     .make_ulid = [] { return make_ulid(); },
                                                     .published = [this](const SagaPointer& saga) { waiters_.published(saga); }},
                                         std::move(*writer));
      lanes_.push_back(lane);
    }
    gauges_.watch(lanes_);
    for (const auto& lane : lanes_) {
      threads_.emplace_back([this, lane] { work(*lane); });
    }
    is_running_ = true;
    return journal_.start(*this);
  }

  void stop() {
    if (is_stopping_.exchange(true)) {
      return;
    }
    const auto deadline = std::chrono::steady_clock::now() + kDrain;
    const auto is_idle = [&] { return std::ranges::all_of(lanes_, [](const auto& lane) { return lane->mailbox().is_empty(); }); };
    while (!is_idle() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (is_running_) {
      journal_.stop();
    }
    has_stopped_ = true;
    for (const auto& lane : lanes_) {
      lane->mailbox().wake();
    }
    threads_.clear();
    waiters_.stop();
    for (const auto& lane : lanes_) {
      lane->give_up();
    }
    gauges_.watch({});
  }

  // Listener.
  void on_assigned(std::span<const journal::Assignment> assignments) override {
    std::map<Lane*, Control> controls;
    for (const auto& assignment : assignments) {
      controls[&lane_of(assignment.partition)].assigned.push_back(assignment);
    }
    for (auto& [lane, control] : controls) {
      // Counted before the lane sees it: between the two the engine must not pass for ready.
      assigned_ += static_cast<std::uint32_t>(control.assigned.size());
      lane->mailbox().put(std::move(control));
    }
    was_assigned_ = true;
  }

  void on_revoked(std::span<const std::uint32_t> partitions) override {
    std::map<Lane*, Control> controls;
    for (const auto partition : partitions) {
      controls[&lane_of(partition)].revoked.push_back(partition);
    }
    std::vector<std::future<void>> done;
    for (auto& [lane, control] : controls) {
      control.done = std::make_shared<std::promise<void>>();
      done.push_back(control.done->get_future());
      lane->mailbox().put(std::move(control));
    }
    const auto deadline = std::chrono::steady_clock::now() + kRevoke;
    for (auto& each : done) {
      if (each.wait_until(deadline) != std::future_status::ready) {
        telemetry::log(telemetry::LogLevel::kError,
                       "a lane did not give its partitions back in time; the journal's fence refuses what it still writes");
      }
    }
  }

  [[nodiscard]] bool on_input(journal::InboxRecord record) override {
    if (lane_of(record.partition).mailbox().put(record)) {
      return true;
    }
    recorder_.queue_full("inbox");
    return false;
  }

  // What Engine offers.
  [[nodiscard]] Result<std::vector<std::shared_ptr<const Definition>>> add_definitions(const Catalog& found) {
    const std::lock_guard lock(catalog_mutex_);
    auto merged = current_catalog_->merged_with(found);
    if (!merged) {
      return std::unexpected(merged.error());
    }
    std::vector<std::shared_ptr<const Definition>> added;
    for (const auto& definition : found.all()) {
      if (current_catalog_->by_hash(definition->hash) == nullptr) {
        recorder_.expect(definition->name);
        added.push_back(definition);
      }
    }
    current_catalog_ = std::make_shared<const Catalog>(std::move(*merged));
    return added;
  }

  void start(StartRequest request, StartCallback callback) {
    if (is_stopping_ || !is_running_) {
      callback(stopping());
      return;
    }
    const auto definition = current_catalog()->latest(request.definition);
    if (definition == nullptr) {
      callback(fail(ErrorCode::kNotFound, std::format("no saga definition is named '{}'", request.definition)));
      return;
    }
    auto fingerprint = check_request(request, settings_.max_input_bytes);
    if (!fingerprint) {
      callback(std::unexpected(fingerprint.error()));
      return;
    }
    const auto partition = partition_of_key(request.idempotency_key, journal_.partitions());
    saga::Request input = StartInput{.definition = definition,
                                     .request = std::move(request),
                                     .fingerprint = std::move(*fingerprint),
                                     .partition = partition,
                                     .callback = std::move(callback)};
    if (!lane_of(partition).mailbox().put(input)) {
      recorder_.queue_full("start");
      std::get<StartInput>(input).callback(is_stopping_ ? stopping() : overloaded("starts"));
    }
  }

  void act(std::string saga_id, OperatorAction action, SagaCallback callback) {
    const auto partition = check_id(saga_id);
    if (!partition) {
      callback(std::unexpected(partition.error()));
      return;
    }
    if (is_stopping_ || !is_running_) {
      callback(stopping());
      return;
    }
    saga::Request input =
        ActionInput{.saga_id = std::move(saga_id), .action = std::move(action), .partition = *partition, .callback = std::move(callback)};
    if (!lane_of(*partition).mailbox().put(input)) {
      recorder_.queue_full("start");
      std::get<ActionInput>(input).callback(is_stopping_ ? stopping() : overloaded("actions"));
    }
  }

  [[nodiscard]] Result<SagaPointer> get(std::string_view saga_id) const {
    if (const auto partition = check_id(saga_id); !partition) {
      return std::unexpected(partition.error());
    }
    auto saga = journal_.load(saga_id);
    if (saga && *saga == nullptr) {
      return fail(ErrorCode::kNotFound, std::format("no saga has the id {}", saga_id));
    }
    return saga;
  }

  void wait(const std::string& saga_id, const WaitFor& condition, SagaCallback callback) {
    if (const auto partition = check_id(saga_id); !partition) {
      callback(std::unexpected(partition.error()));
    } else if (!waiters_.wait(saga_id, condition, callback)) {
      recorder_.queue_full("wait");
      callback(overloaded("callers"));
    }
  }

  [[nodiscard]] Result<journal::ListPage> list(const journal::ListQuery& query) const { return journal_.list(query); }

  [[nodiscard]] Result<SagaPointer> find_by_business_key(std::string_view definition, std::string_view business_key) const {
    auto page = business_key.empty()
                    ? journal::ListPage{}
                    : journal_.list(
                          {.status = {}, .definition = std::string(definition), .business_key = std::string(business_key), .cursor = {}, .limit = 1});
    if (!page) {
      return std::unexpected(page.error());
    }
    if (page->sagas.empty()) {
      return fail(ErrorCode::kNotFound, std::format("no saga of '{}' has the business key '{}'", definition, business_key));
    }
    return page->sagas.front();
  }

  [[nodiscard]] Result<void> deliver(participant::Reply reply) {
    const auto partition = check_id(reply.saga_id);
    if (!partition) {
      return std::unexpected(partition.error());
    }
    if (has_stopped_ || !is_running_) {
      return stopping();
    }
    if (!lane_of(*partition).mailbox().put(reply)) {
      recorder_.queue_full("reply");
      return overloaded("replies");
    }
    return {};
  }

  [[nodiscard]] Result<void> ready() const {
    if (is_stopping_) {
      return stopping();
    }
    if (!is_running_ || !was_assigned_) {
      return fail(ErrorCode::kUnavailable, "the journal has not assigned partitions yet");
    }
    if (auto healthy = journal_.health(); !healthy) {
      return healthy;
    }
    for (const auto& lane : lanes_) {
      if (const auto trouble = lane->trouble()) {
        return std::unexpected(*trouble);
      }
    }
    const auto now = stats();
    if (now.partitions_restored < now.partitions_owned || assigned_ > seen_assignments()) {
      return fail(ErrorCode::kUnavailable, std::format("restoring: {} of {} partitions are restored", now.partitions_restored, now.partitions_owned));
    }
    return {};
  }

  [[nodiscard]] EngineStats stats() const { return gauges_.stats(); }

 private:
  void work(Lane& lane) {
    while (!has_stopped_) {
      if (lane.turn()) {
        continue;
      }
      const auto pause = lane.next_turn() - settings_.clock();
      if (pause > pause.zero()) {
        lane.mailbox().wait_until(std::chrono::steady_clock::now() + pause);
      }
    }
  }

  [[nodiscard]] std::uint32_t seen_assignments() const {
    std::uint32_t seen = 0;
    for (const auto& lane : lanes_) {
      seen += lane->stats().assignments_seen;
    }
    return seen;
  }

  [[nodiscard]] Result<std::uint32_t> check_id(std::string_view saga_id) const {
    auto partition = partition_of_id(saga_id);
    if (partition && *partition >= journal_.partitions()) {
      return fail(ErrorCode::kInvalidArgument, std::format("saga {} names a partition beyond the {} there are", saga_id, journal_.partitions()));
    }
    return partition;
  }

  [[nodiscard]] std::shared_ptr<const Catalog> current_catalog() const {
    const std::lock_guard lock(catalog_mutex_);
    return current_catalog_;
  }

  [[nodiscard]] Lane& lane_of(std::uint32_t partition) { return *lanes_[partition % lanes_.size()]; }

  const EngineSettings settings_;
  const Catalog catalog_;  ///< of the start: what lanes know without having been told
  mutable std::mutex catalog_mutex_;
  std::shared_ptr<const Catalog> current_catalog_;
  journal::Journal& journal_;
  CommandTransport* transport_;
  Recorder recorder_;
  EngineGauges gauges_;
  std::atomic<bool> is_running_ = false;
  std::atomic<bool> was_assigned_ = false;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> has_stopped_ = false;
  std::atomic<std::uint32_t> assigned_ = 0;  ///< partitions, whether still owned or not
  Waiters waiters_;
  std::vector<std::shared_ptr<Lane>> lanes_;
  std::vector<std::jthread> threads_;
};

Engine::Engine(EngineSettings settings, Catalog catalog, journal::Journal& journal, CommandTransport* transport, telemetry::Registry& registry)
    : impl_(std::make_unique<Impl>(std::move(settings), std::move(catalog), journal, transport, registry)) {}
Engine::~Engine() { impl_->stop(); }

Result<void> Engine::run() { return impl_->run(); }
void Engine::stop() { impl_->stop(); }
Result<std::vector<std::shared_ptr<const Definition>>> Engine::add_definitions(const Catalog& found) { return impl_->add_definitions(found); }
void Engine::start(StartRequest request, StartCallback callback) { impl_->start(std::move(request), std::move(callback)); }
void Engine::act(std::string saga_id, OperatorAction action, SagaCallback callback) {
  impl_->act(std::move(saga_id), std::move(action), std::move(callback));
}
Result<SagaPointer> Engine::get(std::string_view saga_id) const { return impl_->get(saga_id); }
void Engine::wait(const std::string& saga_id, WaitFor condition, SagaCallback callback) { impl_->wait(saga_id, condition, std::move(callback)); }
Result<journal::ListPage> Engine::list(const journal::ListQuery& query) const { return impl_->list(query); }
Result<SagaPointer> Engine::find_by_business_key(std::string_view definition, std::string_view business_key) const {
  return impl_->find_by_business_key(definition, business_key);
}
Result<void> Engine::deliver(participant::Reply reply) { return impl_->deliver(std::move(reply)); }
Result<void> Engine::ready() const { return impl_->ready(); }
EngineStats Engine::stats() const { return impl_->stats(); }

}  // namespace outrigger::saga
