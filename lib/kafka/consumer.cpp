#include "lib/kafka/consumer.h"

#include <format>

#include "lib/kafka/internal/handle.h"

namespace outrigger::kafka {
namespace {

using internal::ErrorPtr;

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
  explicit Impl(internal::HandlePtr handle) : handle_(std::move(handle)) { rd_kafka_poll_set_consumer(handle_.get()); }
  ~Impl() { close(); }

  static void on_rebalance(rd_kafka_t* handle, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list, void* opaque) {
    auto& self = *static_cast<Holder*>(opaque)->impl;
    auto partitions = internal::read_partitions(*list);
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      for (auto& entry : std::span(list->elems, static_cast<std::size_t>(list->cnt))) {
        entry.offset = 0;  // paused at once: where reading begins is said by seek()
      }
      rd_kafka_assign(handle, list);
      rd_kafka_pause_partitions(handle, list);
      self.callbacks_.assigned(capture_metadata(handle), std::move(partitions));
    } else {
      self.callbacks_.revoked(std::move(partitions), rd_kafka_assignment_lost(handle) != 0);
      rd_kafka_assign(handle, nullptr);
    }
  }

  Result<void> subscribe(const std::vector<std::string>& topics, RebalanceCallbacks callbacks) {
    callbacks_ = std::move(callbacks);
    std::vector<TopicPartition> list;
    for (const auto& topic : topics) {
      list.push_back({.topic = topic, .partition = RD_KAFKA_PARTITION_UA});
    }
    if (const auto code = rd_kafka_subscribe(handle_.get(), internal::make_partitions(list).get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(code, "subscribe");
    }
    return {};
  }

  Result<void> assign(std::span<const Position> positions) {
    if (const auto code = rd_kafka_assign(handle_.get(), internal::make_positions(positions).get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(code, "assign partitions");
    }
    return {};
  }

  Polled poll(std::chrono::milliseconds timeout) {
    const internal::MessagePtr message(rd_kafka_consumer_poll(handle_.get(), static_cast<int>(timeout.count())));
    if (!message) {
      return std::monostate{};
    }
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      return read_message(*message);
    }
    std::optional<TopicPartition> partition;
    if (message->rkt != nullptr) {
      partition = TopicPartition{.topic = rd_kafka_topic_name(message->rkt), .partition = message->partition};
    }
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      return EndOfPartition{.partition = *partition, .next = message->offset};
    }
    const auto fatal = rd_kafka_fatal_error(handle_.get(), nullptr, 0);
    return ConsumerError{
        .message = std::format("{} ({})", rd_kafka_message_errstr(message.get()), rd_kafka_err2name(message->err)),
        .is_fatal = fatal != RD_KAFKA_RESP_ERR_NO_ERROR,
        .is_instance_fenced = fatal == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID || message->err == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
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
    return {};
  }

  void pause(const TopicPartition& partition) { rd_kafka_pause_partitions(handle_.get(), internal::make_partitions({&partition, 1}).get()); }
  void resume(const TopicPartition& partition) { rd_kafka_resume_partitions(handle_.get(), internal::make_partitions({&partition, 1}).get()); }

  Result<std::vector<std::optional<std::int64_t>>> committed(std::span<const TopicPartition> partitions, std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const auto list = internal::make_partitions(partitions);
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      auto code = rd_kafka_committed(handle_.get(), list.get(), std::max(1, std::min(2000, static_cast<int>(left.count()))));
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
    if (const auto code = rd_kafka_commit(handle_.get(), internal::make_positions(positions).get(), 0); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
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

  /// What librdkafka's callbacks point to: made before the handle.
  struct Holder {
    Impl* impl = nullptr;
  };
  std::unique_ptr<Holder> holder;

 private:
  internal::HandlePtr handle_;
  RebalanceCallbacks callbacks_;
  bool is_closed_ = false;
};

Result<std::unique_ptr<Consumer>> Consumer::create(const ConsumerSettings& settings) {
  internal::Properties properties{{"group.id", settings.group},
                                  {"enable.auto.commit", "false"},
                                  {"enable.auto.offset.store", "false"},
                                  {"auto.offset.reset", "error"},
                                  {"partition.assignment.strategy", "range"},
                                  {"isolation.level", settings.read_committed ? "read_committed" : "read_uncommitted"},
                                  {"enable.partition.eof", settings.partition_eof ? "true" : "false"},
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
  auto holder = std::make_unique<Impl::Holder>();
  rd_kafka_conf_set_opaque(conf->get(), holder.get());
  rd_kafka_conf_set_rebalance_cb(conf->get(), Impl::on_rebalance);
  auto handle = internal::make_handle(RD_KAFKA_CONSUMER, std::move(*conf));
  if (!handle) {
    return std::unexpected(handle.error());
  }
  auto impl = std::make_unique<Impl>(std::move(*handle));
  holder->impl = impl.get();
  impl->holder = std::move(holder);
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
void Consumer::resume(const TopicPartition& partition) { impl_->resume(partition); }
Result<std::vector<std::optional<std::int64_t>>> Consumer::committed(std::span<const TopicPartition> partitions, std::chrono::milliseconds timeout) {
  return impl_->committed(partitions, timeout);
}
Result<void> Consumer::commit(std::span<const Position> positions) { return impl_->commit(positions); }
void Consumer::close() { impl_->close(); }

}  // namespace outrigger::kafka
