#include "lib/kafka/consumer.h"

#include <format>
#include <mutex>
#include <thread>

#include "lib/kafka/internal/handle.h"
#include "lib/kafka/internal/instance_check.h"
#include "lib/kafka/internal/stall_watch.h"

namespace outrigger::kafka {
namespace {

using internal::ErrorPtr;
using internal::InstanceHolder;
using internal::StallWatch;

constexpr std::chrono::milliseconds kLook{1'000};           // between two looks at whether it is stuck
constexpr std::chrono::milliseconds kCommitAnswer{20'000};  // longer than librdkafka lets a request wait for its coordinator

/// Several threads use it, and it may be replaced: the last user destroys it. Not closed then, because closing calls back.
using SharedHandle = std::shared_ptr<rd_kafka_t>;
SharedHandle share(internal::HandlePtr handle) {
  return {handle.release(), [](rd_kafka_t* owned) { rd_kafka_destroy_flags(owned, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE); }};
}

ReceivedRecord read_message(const rd_kafka_message_t& message) {
  ReceivedRecord record{
      .topic = rd_kafka_topic_name(message.rkt), .partition = message.partition, .offset = message.offset, .key = {}, .value = {}, .headers = {}};
  if (message.key != nullptr) {
    record.key.assign(static_cast<const char*>(message.key), message.key_len);
  }
  if (message.payload != nullptr) {
    record.value.emplace(static_cast<const char*>(message.payload), message.len);
  }
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
      record.headers.emplace_back(name, value == nullptr ? std::string() : std::string(static_cast<const char*>(value), size));
    }
  }
  return record;
}

}  // namespace

class Consumer::Impl {
 public:
  Impl(const ConsumerSettings& settings, internal::ConfPtr conf)
      : conf_(std::move(conf)),
        reports_ends_(settings.partition_eof),
        instance_check_(settings.client, settings.group, settings.instance),
        watch_({.silence = settings.stall_after, .joining = 2 * settings.session_timeout + 2 * settings.stall_after}) {
    rd_kafka_conf_set_opaque(conf_.get(), this);
    rd_kafka_conf_set_rebalance_cb(conf_.get(), on_rebalance);
  }
  ~Impl() { close(); }

  /// Errors: kInvalidArgument.
  Result<void> connect() {
    auto made = internal::make_handle(RD_KAFKA_CONSUMER, internal::ConfPtr(rd_kafka_conf_dup(conf_.get())));
    if (!made) {
      return std::unexpected(made.error());
    }
    rd_kafka_poll_set_consumer(made->get());
    auto fresh = share(std::move(*made));
    const std::lock_guard lock(handle_mutex_);
    handle_.swap(fresh);
    return {};
  }

  static void on_rebalance(rd_kafka_t* handle, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list, void* opaque) {
    auto& self = *static_cast<Impl*>(opaque);
    auto partitions = internal::read_partitions(*list);
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      for (auto& entry : std::span(list->elems, static_cast<std::size_t>(list->cnt))) {
        entry.offset = 0;  // paused at once: where reading begins is said by seek()
      }
      rd_kafka_assign(handle, list);
      rd_kafka_pause_partitions(handle, list);
      self.assigned_ = partitions;
      self.watch_.joined();
      self.callbacks_.assigned(capture_metadata(handle), std::move(partitions));
    } else {
      self.assigned_.clear();
      self.watch_.joining(std::chrono::steady_clock::now());
      self.callbacks_.revoked(std::move(partitions), rd_kafka_assignment_lost(handle) != 0);
      rd_kafka_assign(handle, nullptr);
    }
  }

  Result<void> subscribe(const std::vector<std::string>& topics, RebalanceCallbacks callbacks) {
    callbacks_ = std::move(callbacks);
    for (const auto& topic : topics) {
      topics_.push_back({.topic = topic, .partition = RD_KAFKA_PARTITION_UA});
    }
    return join();
  }

  Result<void> join() {
    if (const auto code = rd_kafka_subscribe(handle_.get(), internal::make_partitions(topics_).get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(code, "subscribe");
    }
    watch_.joining(std::chrono::steady_clock::now());
    return {};
  }

  Result<void> assign(std::span<const Position> positions) {
    if (const auto code = rd_kafka_assign(handle_.get(), internal::make_positions(positions).get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(code, "assign partitions");
    }
    return {};
  }

  Polled poll(std::chrono::milliseconds timeout) {
    if (is_commit_unanswered_) {
      return start_anew("a commit of positions got no answer");
    }
    const internal::MessagePtr message(rd_kafka_consumer_poll(handle_.get(), static_cast<int>(timeout.count())));
    if (!message) {
      return look();
    }
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      auto record = read_message(*message);
      watch_.progress({.partition = {.topic = record.topic, .partition = record.partition}, .next = record.offset + 1},
                      std::chrono::steady_clock::now());
      return record;
    }
    std::optional<TopicPartition> partition;
    if (message->rkt != nullptr) {
      partition = TopicPartition{.topic = rd_kafka_topic_name(message->rkt), .partition = message->partition};
    }
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      EndOfPartition end{.partition = *partition, .next = message->offset};
      watch_.progress({.partition = end.partition, .next = end.next}, std::chrono::steady_clock::now());
      return reports_ends_ ? Polled(std::move(end)) : Polled();
    }
    return ConsumerError{
        .message = std::format("{} ({})", rd_kafka_message_errstr(message.get()), rd_kafka_err2name(message->err)),
        .is_fatal = rd_kafka_fatal_error(handle_.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR,
        .is_out_of_range = message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE,
        .partition = std::move(partition)};
  }

  Result<void> seek(const Position& position) {
    const auto list = internal::make_positions({&position, 1});
    if (const ErrorPtr error(rd_kafka_seek_partitions(handle_.get(), list.get(), 5000)); error) {
      return internal::failure(rd_kafka_error_code(error.get()), "seek", rd_kafka_error_string(error.get()));
    }
    if (list->elems[0].err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(list->elems[0].err, std::format("seek {}/{}", position.partition.topic, position.partition.partition));
    }
    rd_kafka_resume_partitions(handle_.get(), list.get());
    watch_.begin(position, std::chrono::steady_clock::now());
    return {};
  }

  void pause(const TopicPartition& partition) {
    watch_.pause(partition);
    rd_kafka_pause_partitions(handle_.get(), internal::make_partitions({&partition, 1}).get());
  }

  Result<std::vector<std::optional<std::int64_t>>> committed(std::span<const TopicPartition> partitions, std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const auto list = internal::make_partitions(partitions);
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      auto code = rd_kafka_committed(current().get(), list.get(), std::max(1, std::min(2000, static_cast<int>(left.count()))));
      for (int i = 0; i < list->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
        code = list->elems[i].err;
      }
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        break;
      }
      if (left.count() <= 0) {
        return internal::failure(code == RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT ? RD_KAFKA_RESP_ERR__TIMED_OUT : code, "read committed positions",
                                 code == RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT ? "a transaction on them stays open" : "");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    std::vector<std::optional<std::int64_t>> positions;
    for (int i = 0; i < list->cnt; ++i) {
      positions.push_back(list->elems[i].offset >= 0 ? std::optional(list->elems[i].offset) : std::nullopt);
    }
    return positions;
  }

  Result<void> commit(std::span<const Position> positions) {
    // Not the synchronous call: that one waits for ever when the coordinator cannot be found.
    const internal::QueuePtr answers(rd_kafka_queue_new(handle_.get()));
    auto code = rd_kafka_commit_queue(handle_.get(), internal::make_positions(positions).get(), answers.get(), nullptr, nullptr);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const internal::EventPtr answer(rd_kafka_queue_poll(answers.get(), static_cast<int>(kCommitAnswer.count())));
      is_commit_unanswered_ = !answer;
      code = answer ? rd_kafka_event_error(answer.get()) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(code, "commit positions");
    }
    return {};
  }

  void close() {
    if (!is_closed_) {
      is_closed_ = true;
      rd_kafka_consumer_close(handle_.get());
    }
  }

 private:
  [[nodiscard]] SharedHandle current() const {
    const std::lock_guard lock(handle_mutex_);
    return handle_;
  }

  /// While nothing comes: is there nothing, or is it stuck?
  Polled look() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) {
      return std::monostate{};
    }
    next_look_ = now + kLook;
    switch (rd_kafka_fatal_error(handle_.get(), nullptr, 0)) {
      case RD_KAFKA_RESP_ERR_NO_ERROR: break;
      case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID: return look_who_fenced();
      default: return std::monostate{};  // reported already
    }
    if (watch_.joins_too_long(now)) {
      return start_anew("the group has given no assignment for too long");
    }
    const auto suspect = watch_.suspect(now);
    if (!suspect) {
      return std::monostate{};
    }
    std::int64_t low = 0;
    std::int64_t end = 0;  // with this handle's isolation level: what it can reach
    const auto code = rd_kafka_query_watermark_offsets(handle_.get(), suspect->partition.topic.c_str(), suspect->partition.partition, &low, &end,
                                                       static_cast<int>(kLook.count()));
    const bool has_end = code == RD_KAFKA_RESP_ERR_NO_ERROR;
    switch (watch_.answered(suspect->partition, has_end ? std::optional(end) : std::nullopt, std::chrono::steady_clock::now())) {
      case StallWatch::Remedy::kNone: return std::monostate{};
      case StallWatch::Remedy::kStartAnew:
        return start_anew(std::format("{}/{} does not move from {}", suspect->partition.topic, suspect->partition.partition, suspect->next));
      case StallWatch::Remedy::kReadAgain: break;
    }
    static_cast<void>(seek(*suspect));  // failed: the next look asks again
    return ConsumerError{.message = std::format("nothing came for too long although the end is {}: reading again from {}", end, suspect->next),
                         .partition = suspect->partition};
  }

  [[nodiscard]] std::string member_id() const {
    char* id = rd_kafka_memberid(handle_.get());
    std::string copy(id == nullptr ? "" : id);
    rd_kafka_mem_free(handle_.get(), id);
    return copy;
  }

  Polled look_who_fenced() {
    switch (is_fenced_ ? InstanceHolder::kUnknown : instance_check_.ask(member_id(), kLook)) {
      case InstanceHolder::kUnknown: return std::monostate{};
      case InstanceHolder::kItself: return start_anew("the group took this client's own joining for another's");
      case InstanceHolder::kAnother: break;
    }
    is_fenced_ = true;  // for good: who came again would take turns with the other
    return ConsumerError{.message = "another client has joined the group with this instance name", .is_fatal = true, .is_instance_fenced = true};
  }

  /// A new client in the place of one that is stuck: as the same static member it gets the same partitions again.
  Polled start_anew(const std::string& why) {
    is_commit_unanswered_ = false;
    if (!assigned_.empty()) {
      callbacks_.revoked(std::exchange(assigned_, {}), true);
    }
    if (const auto connected = connect().and_then([this] { return join(); }); !connected) {
      impossible("consumer", connected.error().to_string());  // the same settings have served before
    }
    return ConsumerError{.message = why + ": the client is made anew", .is_restarted = true};
  }

  internal::ConfPtr conf_;
  bool reports_ends_;
  internal::InstanceCheck instance_check_;
  StallWatch watch_;
  MonotonicTime next_look_;
  std::vector<TopicPartition> topics_;
  std::vector<TopicPartition> assigned_;
  RebalanceCallbacks callbacks_;
  bool is_commit_unanswered_ = false;
  bool is_fenced_ = false;
  bool is_closed_ = false;
  mutable std::mutex handle_mutex_;  // replaced under it by the polling thread, which reads it without
  SharedHandle handle_;
};

Result<std::unique_ptr<Consumer>> Consumer::create(const ConsumerSettings& settings) {
  internal::Properties properties{{"group.id", settings.group},
                                  {"enable.auto.commit", "false"},
                                  {"enable.auto.offset.store", "false"},
                                  {"auto.offset.reset", "error"},
                                  {"partition.assignment.strategy", "range"},
                                  {"isolation.level", settings.read_committed ? "read_committed" : "read_uncommitted"},
                                  {"enable.partition.eof", "true"},  // tells a quiet partition from a stuck one
                                  {"session.timeout.ms", std::to_string(settings.session_timeout.count())},
                                  {"heartbeat.interval.ms", std::to_string(std::max<std::int64_t>(100, settings.session_timeout.count() / 5))},
                                  {"max.poll.interval.ms", std::to_string(std::max(settings.max_poll_interval, settings.session_timeout).count())},
                                  {"fetch.wait.max.ms", "100"},
                                  {"queued.max.messages.kbytes", std::to_string(std::max<std::size_t>(1, settings.queue_bytes / 1024))},
                                  {"check.crcs", "true"}};
  if (!settings.instance.empty()) {
    properties["group.instance.id"] = settings.instance;
  }
  auto conf = internal::make_conf(settings.client, properties);
  if (!conf) {
    return std::unexpected(conf.error());
  }
  auto impl = std::make_unique<Impl>(settings, std::move(*conf));
  if (auto connected = impl->connect(); !connected) {
    return std::unexpected(connected.error());
  }
  return std::unique_ptr<Consumer>(new Consumer(std::move(impl)));
}

GroupMetadata Consumer::capture_metadata(void* handle) {
  auto* metadata = rd_kafka_consumer_group_metadata(static_cast<rd_kafka_t*>(handle));
  return GroupMetadata(std::shared_ptr<const void>(metadata, [](const void* owned) {
    rd_kafka_consumer_group_metadata_destroy(static_cast<rd_kafka_consumer_group_metadata_t*>(const_cast<void*>(owned)));
  }));
}

std::int32_t GroupMetadata::generation() const {
  return rd_kafka_consumer_group_metadata_generation_id(static_cast<const rd_kafka_consumer_group_metadata_t*>(handle_.get()));
}

std::string GroupMetadata::member_id() const {
  return rd_kafka_consumer_group_metadata_member_id(static_cast<const rd_kafka_consumer_group_metadata_t*>(handle_.get()));
}

Consumer::Consumer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Consumer::~Consumer() = default;
Result<void> Consumer::subscribe(const std::vector<std::string>& topics, RebalanceCallbacks callbacks) {
  return impl_->subscribe(topics, std::move(callbacks));
}
Result<void> Consumer::assign(std::span<const Position> positions) { return impl_->assign(positions); }
Polled Consumer::poll(std::chrono::milliseconds timeout) { return impl_->poll(timeout); }
Result<void> Consumer::seek(const Position& position) { return impl_->seek(position); }
void Consumer::pause(const TopicPartition& partition) { impl_->pause(partition); }
Result<std::vector<std::optional<std::int64_t>>> Consumer::committed(std::span<const TopicPartition> partitions, std::chrono::milliseconds timeout) {
  return impl_->committed(partitions, timeout);
}
Result<void> Consumer::commit(std::span<const Position> positions) { return impl_->commit(positions); }
void Consumer::close() { impl_->close(); }

}  // namespace outrigger::kafka
