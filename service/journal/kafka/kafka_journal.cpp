#include "service/journal/kafka/kafka_journal.h"

#include <atomic>
#include <format>
#include <mutex>
#include <thread>

#include "lib/kafka/consumer.h"
#include "lib/runtime/lifecycle.h"
#include "lib/telemetry/log.h"
#include "service/journal/kafka/internal/cache.h"
#include "service/journal/kafka/internal/inbox_reader.h"
#include "service/journal/kafka/internal/lane.h"
#include "service/journal/kafka/internal/ownership.h"
#include "service/journal/kafka/internal/records.h"
#include "service/journal/kafka/metrics.h"

namespace outrigger::journal {
namespace {

using telemetry::LogLevel;

constexpr std::chrono::milliseconds kAsk{10'000};
constexpr std::chrono::milliseconds kAbortScan{10'000};
constexpr std::chrono::milliseconds kPoll{50};
constexpr std::chrono::milliseconds kPollWhileHeld{5};  // a lane without room makes some within a commit

std::vector<std::uint32_t> numbers(const std::vector<kafka::TopicPartition>& partitions) {
  std::vector<std::uint32_t> all;
  for (const auto& partition : partitions) {
    all.push_back(static_cast<std::uint32_t>(partition.partition));
  }
  return all;
}

class KafkaJournal final : public Journal {
 public:
  KafkaJournal(const KafkaSettings& settings, contracts::SchemaRegistry contracts, telemetry::Registry& registry)
      : settings_(settings),
        contracts_(std::move(contracts)),
        codec_(contracts_, settings.contract_package, TopicNames::of(settings.topics.generation), registry),
        metrics_(registry),
        group_(std::format("outrigger-saga-{}", settings.topics.generation)) {}

  ~KafkaJournal() override { stop(); }

  Result<void> open() {
    if (settings_.restore_stall <= settings_.transaction_timeout + kAbortScan) {
      return fail(ErrorCode::kInvalidArgument,
                  "a restore must be allowed to wait for an open transaction's timeout and the broker's scan for it (10 s)");
    }
    auto admin = kafka::Admin::create(settings_.client);
    if (!admin) {
      return std::unexpected(admin.error());
    }
    admin_ = std::move(*admin);
    if (settings_.create_topics) {
      const auto brokers = admin_->broker_count(kAsk);
      if (!brokers) {
        return std::unexpected(brokers.error());
      }
      if (auto created = admin_->create_topics(declare_topics(settings_.topics, *brokers), 3 * kAsk); !created) {
        return created;
      }
    }
    if (auto checked = check_topics(*admin_, settings_.topics, settings_.create_topics ? kAsk : std::chrono::milliseconds{0}); !checked) {
      return checked;
    }
    auto cache = internal::Cache::open(settings_, codec_, *admin_, metrics_);
    if (!cache) {
      return std::unexpected(cache.error());
    }
    cache_ = std::move(*cache);
    auto inbox = kafka::Consumer::create(
        {.client = settings_.client, .group = group_, .instance = settings_.instance, .session_timeout = settings_.session_timeout});
    if (!inbox) {
      return std::unexpected(inbox.error());
    }
    inbox_ = std::move(*inbox);
    return {};
  }

  std::uint32_t partitions() const override { return settings_.topics.partitions; }
  bool delivers_commands() const override { return true; }

  Result<void> start(Listener& listener) override {
    listener_ = &listener;
    reader_ = std::make_unique<internal::InboxReader>(*inbox_, codec_, ownership_, listener, metrics_);
    if (auto subscribed = inbox_->subscribe(
            {codec_.topics().inbox}, {.assigned = [this](const auto& group, const auto& partitions) { on_assigned(group, numbers(partitions)); },
                                      .revoked = [this](const auto& partitions, bool lost) { on_revoked(numbers(partitions), lost); }});
        !subscribed) {
      return subscribed;
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    return {};
  }

  void stop() override {
    if (thread_.joinable()) {
      thread_.request_stop();
      thread_.join();
    }
  }

  Result<std::unique_ptr<LaneJournal>> open_lane(unsigned lane) override {
    return std::make_unique<internal::Lane>(internal::LaneContext{.settings = settings_,
                                                                  .codec = codec_,
                                                                  .admin = *admin_,
                                                                  .ownership = ownership_,
                                                                  .cache = *cache_,
                                                                  .inbox = *inbox_,
                                                                  .on_committed = [this] { set_problem({}); },
                                                                  .metrics = metrics_,
                                                                  .group = group_},
                                            lane);
  }

  Result<std::shared_ptr<const saga::SagaState>> load(std::string_view saga_id) const override {
    const auto partition = saga::partition_of_id(saga_id);
    if (!partition) {
      return nullptr;
    }
    if (auto readable = check_readable(*partition); !readable) {
      return std::unexpected(readable.error());
    }
    return cache_->store().load(saga_id);
  }

  Result<std::optional<KeyRecord>> find_key(std::string_view definition, std::string_view key) const override {
    if (auto readable = check_readable(saga::partition_of_key(key, partitions())); !readable) {
      return std::unexpected(readable.error());
    }
    return cache_->store().find_key(definition, key);
  }

  Result<ListPage> list(const ListQuery& query) const override {
    auto page = cache_->store().list(query);
    if (page) {
      // The cache may still hold what another instance owns now.
      std::erase_if(page->sagas, [&](const auto& state) { return !ownership_.is_readable(state->partition); });
    }
    return page;
  }

  Result<std::vector<std::string>> finished_before(std::uint32_t partition, WallTime time, std::size_t limit) const override {
    if (auto readable = check_readable(partition); !readable) {
      return std::unexpected(readable.error());
    }
    return cache_->store().finished_before(partition, time, limit);
  }

  Result<void> health() const override {
    if (auto stored = cache_->store().health(); !stored) {
      return stored;
    }
    const std::lock_guard lock(problem_mutex_);
    return problem_.empty() ? Result<void>() : fail(ErrorCode::kUnavailable, problem_);
  }

 private:
  Result<void> check_readable(std::uint32_t partition) const {
    if (ownership_.is_readable(partition)) {
      return {};
    }
    return fail(ErrorCode::kUnavailable, std::format("partition {} is not this instance's, or is being restored: try again", partition));
  }

  void on_assigned(const kafka::GroupMetadata& group, const std::vector<std::uint32_t>& partitions) {
    const auto assignments = ownership_.assign(partitions, group);
    metrics_.counter(metrics::kRebalances, {{"kind", "assigned"}}).add();
    metrics_.gauge(metrics::kGeneration).set(group.generation());
    telemetry::log(LogLevel::kInfo, "partitions assigned",
                   {{"count", std::to_string(partitions.size())}, {"generation", std::to_string(group.generation())}});
    set_problem({});
    listener_->on_assigned(assignments);
  }

  void on_revoked(const std::vector<std::uint32_t>& partitions, bool lost) {
    metrics_.counter(metrics::kRebalances, {{"kind", lost ? "lost" : "revoked"}}).add();
    telemetry::log(lost ? LogLevel::kWarning : LogLevel::kInfo, lost ? "partitions lost" : "partitions revoked",
                   {{"count", std::to_string(partitions.size())}});
    ownership_.begin_revoking(partitions, lost);
    listener_->on_revoked(partitions);
    ownership_.drop(partitions);
    reader_->forget(partitions);
  }

  // Everything that touches the inbox consumer happens on this thread, so that a record and the session it belongs to cannot drift apart.
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const bool is_holding = reader_->offer();
      auto polled = inbox_->poll(is_holding ? kPollWhileHeld : kPoll);
      if (const auto* record = std::get_if<kafka::ReceivedRecord>(&polled)) {
        reader_->deliver(*record);
      } else if (const auto* error = std::get_if<kafka::ConsumerError>(&polled)) {
        on_error(*error);
      }
      probe();
    }
    inbox_->close();
  }

  void on_error(const kafka::ConsumerError& error) {
    metrics_.counter(metrics::kConsumerErrors).add();
    if (error.is_restarted) {
      metrics_.counter(metrics::kConsumersRestarted).add();
    }
    if (error.is_instance_fenced) {
      ownership_.begin_revoking(ownership_.owned(), true);
      end_process(exit_code::kBadConfiguration,
                  std::format("another process runs with the instance name {}: give each its own ({})", settings_.instance, error.message));
    }
    if (error.is_out_of_range && error.partition && reader_->reads(static_cast<std::uint32_t>(error.partition->partition))) {
      // Input that expired is no loss: what a saga waits for is sent again from its state.
      if (const auto ends = admin_->watermarks(*error.partition, kAsk); ends) {
        if (auto sought = inbox_->seek({.partition = *error.partition, .next = ends->low}); !sought) {
          telemetry::log(LogLevel::kWarning, "cannot go back to the inbox's start", {{"why", sought.error().to_string()}});
        }
      }
      return;
    }
    telemetry::log(LogLevel::kWarning, "the inbox consumer reports", {{"why", error.message}});
    if (error.is_fatal || !error.partition) {
      set_problem(error.message);
    }
  }

  /// While something is wrong: asks once a second whether the brokers answer again, because an idle inbox would never tell.
  void probe() {
    const auto now = std::chrono::steady_clock::now();
    if (has_problem_ && !is_ended_ && now >= next_probe_) {
      next_probe_ = now + std::chrono::seconds{1};
      if (admin_->watermarks(inbox_partition(0), std::chrono::milliseconds{500})) {
        set_problem({});
      }
    }
  }

  void set_problem(const std::string& problem) {
    if (problem.empty() && !has_problem_) {
      return;
    }
    const std::lock_guard lock(problem_mutex_);
    if (!is_ended_) {
      problem_ = problem;
      has_problem_ = !problem.empty();
    }
  }

  void end_process(int code, const std::string& why) {
    set_problem(why);
    if (!is_ended_.exchange(true)) {
      telemetry::log(LogLevel::kError, why);
      if (settings_.on_fatal) {
        settings_.on_fatal(code, why);
      }
    }
  }

  [[nodiscard]] kafka::TopicPartition inbox_partition(std::uint32_t partition) const {
    return {.topic = codec_.topics().inbox, .partition = static_cast<std::int32_t>(partition)};
  }

  KafkaSettings settings_;
  contracts::SchemaRegistry contracts_;
  internal::RecordCodec codec_;
  telemetry::Registry& metrics_;
  std::string group_;
  std::unique_ptr<kafka::Admin> admin_;
  std::unique_ptr<internal::Cache> cache_;
  std::unique_ptr<kafka::Consumer> inbox_;
  internal::Ownership ownership_;
  Listener* listener_ = nullptr;

  // The polling thread's own.
  std::unique_ptr<internal::InboxReader> reader_;
  std::chrono::steady_clock::time_point next_probe_;

  mutable std::mutex problem_mutex_;
  std::string problem_;
  std::atomic<bool> has_problem_ = false;
  std::atomic<bool> is_ended_ = false;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Journal>> open_kafka_journal(const KafkaSettings& settings, contracts::SchemaRegistry contracts,
                                                    telemetry::Registry& registry) {
  auto journal = std::make_unique<KafkaJournal>(settings, std::move(contracts), registry);
  if (auto opened = journal->open(); !opened) {
    return std::unexpected(opened.error());
  }
  return journal;
}

}  // namespace outrigger::journal
