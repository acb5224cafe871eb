#include "lib/kafka/admin.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <format>

#include "lib/kafka/internal/handle.h"

namespace outrigger::kafka {
namespace {

using internal::Deleter;
using internal::EventPtr;
using OptionsPtr = std::unique_ptr<rd_kafka_AdminOptions_t, Deleter<rd_kafka_AdminOptions_destroy>>;
using NewTopicPtr = std::unique_ptr<rd_kafka_NewTopic_t, Deleter<rd_kafka_NewTopic_destroy>>;
using ResourcePtr = std::unique_ptr<rd_kafka_ConfigResource_t, Deleter<rd_kafka_ConfigResource_destroy>>;
using TopicsPtr = std::unique_ptr<rd_kafka_TopicCollection_t, Deleter<rd_kafka_TopicCollection_destroy>>;

constexpr std::size_t kErrorText = 512;
constexpr std::chrono::milliseconds kBackoff{50};
constexpr std::chrono::milliseconds kAttempt{2'000};  // so long a question may wait in the queue of a broker that is gone
constexpr std::chrono::duration<int, std::milli> kRefresh{1'000};
// librdkafka 2.8 ends the process (an assertion in rdkafka_queue.h) when an admin request's time runs out while its coordinator is
// still being looked up. So its time is long, and who asked waits as long as it wants: a late answer finds its queue gone.
constexpr std::chrono::duration<int, std::milli> kLongRequest{300'000};

}  // namespace

class Admin::Impl {
 public:
  explicit Impl(internal::HandlePtr handle) : handle_(std::move(handle)) {}

  [[nodiscard]] rd_kafka_t* handle() const { return handle_.get(); }

  /// Runs one admin request and waits for its event.
  template <class Request>
  [[nodiscard]] Result<EventPtr> ask(rd_kafka_admin_op_t operation, std::string_view doing, std::chrono::milliseconds timeout,
                                     Request&& request) const {
    const internal::QueuePtr queue(rd_kafka_queue_new(handle_.get()));
    const OptionsPtr options(rd_kafka_AdminOptions_new(handle_.get(), operation));
    std::array<char, kErrorText> text{};
    rd_kafka_AdminOptions_set_request_timeout(options.get(), kLongRequest.count(), text.data(), text.size());
    if (operation == RD_KAFKA_ADMIN_OP_CREATETOPICS) {
      rd_kafka_AdminOptions_set_operation_timeout(options.get(), static_cast<int>(timeout.count()), text.data(), text.size());
    }
    request(options.get(), queue.get());
    EventPtr event(rd_kafka_queue_poll(queue.get(), static_cast<int>(timeout.count())));
    if (!event) {
      return fail(ErrorCode::kDeadlineExceeded, std::format("{}: no answer from the cluster", doing));
    }
    if (const auto code = rd_kafka_event_error(event.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(code, doing, rd_kafka_event_error_string(event.get()));
    }
    return event;
  }

  /// Asks for the whole cluster's: the answer replaces what is cached of every topic.
  void refresh_metadata() const {
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(handle_.get(), 1, nullptr, &metadata, kRefresh.count()) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_metadata_destroy(metadata);
    }
  }

 private:
  internal::HandlePtr handle_;
};

Result<std::unique_ptr<Admin>> Admin::create(const ClientSettings& settings) {
  // A consumer, because only consumers have an isolation level: that of ListOffsets, which decides what "high" means.
  auto conf =
      internal::make_conf(settings, {{"group.id", "outrigger-admin"}, {"isolation.level", "read_uncommitted"}, {"enable.auto.commit", "false"}});
  if (!conf) {
    return std::unexpected(conf.error());
  }
  auto handle = internal::make_handle(RD_KAFKA_CONSUMER, std::move(*conf));
  if (!handle) {
    return std::unexpected(handle.error());
  }
  return std::unique_ptr<Admin>(new Admin(std::make_unique<Impl>(std::move(*handle))));
}

Admin::Admin(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Admin::~Admin() = default;

Result<std::string> Admin::cluster_id(std::chrono::milliseconds timeout) const {
  char* id = rd_kafka_clusterid(impl_->handle(), static_cast<int>(timeout.count()));
  if (id == nullptr) {
    return fail(ErrorCode::kDeadlineExceeded, "the Kafka cluster did not say its id: is the bootstrap address right, does a broker run there?");
  }
  std::string text(id);
  rd_kafka_mem_free(impl_->handle(), id);
  return text;
}

Result<int> Admin::broker_count(std::chrono::milliseconds timeout) const {
  const rd_kafka_metadata_t* metadata = nullptr;
  if (const auto code = rd_kafka_metadata(impl_->handle(), 0, nullptr, &metadata, static_cast<int>(timeout.count()));
      code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return internal::failure(code, "ask for the brokers");
  }
  const int count = metadata->broker_cnt;
  rd_kafka_metadata_destroy(metadata);
  return count;
}

Result<void> Admin::create_topics(const std::vector<TopicSpec>& topics, std::chrono::milliseconds timeout) const {
  std::vector<NewTopicPtr> owned;
  std::vector<rd_kafka_NewTopic_t*> raw;
  std::array<char, kErrorText> text{};
  for (const auto& topic : topics) {
    NewTopicPtr made(rd_kafka_NewTopic_new(topic.name.c_str(), topic.partitions, topic.replication_factor, text.data(), text.size()));
    if (!made) {
      return fail(ErrorCode::kInvalidArgument, std::format("topic {}: {}", topic.name, text.data()));
    }
    for (const auto& [name, value] : topic.config) {
      rd_kafka_NewTopic_set_config(made.get(), name.c_str(), value.c_str());
    }
    raw.push_back(made.get());
    owned.push_back(std::move(made));
  }
  auto event =
      impl_->ask(RD_KAFKA_ADMIN_OP_CREATETOPICS, "create topics", timeout, [&](const rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_CreateTopics(impl_->handle(), raw.data(), raw.size(), options, queue);
      });
  if (!event) {
    return std::unexpected(event.error());
  }
  std::size_t count = 0;
  const auto** results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event->get()), &count);
  for (const auto* result : std::span(results, count)) {
    const auto code = rd_kafka_topic_result_error(result);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
      const char* detail = rd_kafka_topic_result_error_string(result);
      return internal::failure(code, std::format("create topic {}", rd_kafka_topic_result_name(result)), detail == nullptr ? "" : detail);
    }
  }
  return {};
}

Result<std::optional<TopicDescription>> Admin::describe(const std::string& topic, std::chrono::milliseconds timeout) const {
  const char* name = topic.c_str();
  const TopicsPtr topics(rd_kafka_TopicCollection_of_topic_names(&name, 1));
  const auto doing = std::format("describe topic {}", topic);
  auto described = impl_->ask(RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, doing, timeout, [&](const rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
    rd_kafka_DescribeTopics(impl_->handle(), topics.get(), options, queue);
  });
  if (!described) {
    return std::unexpected(described.error());
  }
  std::size_t count = 0;
  const auto** found = rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(described->get()), &count);
  if (count != 1) {
    return fail(ErrorCode::kUnavailable, doing + ": the cluster answered for another topic");
  }
  if (const auto* error = rd_kafka_TopicDescription_error(found[0]); error != nullptr) {
    const auto code = rd_kafka_error_code(error);
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) {
      return std::optional<TopicDescription>();
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(code, doing);
    }
  }
  TopicDescription description;
  description.id = rd_kafka_Uuid_base64str(rd_kafka_TopicDescription_topic_id(found[0]));
  const auto** partitions = rd_kafka_TopicDescription_partitions(found[0], &count);
  description.partitions = static_cast<std::int32_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t replicas = 0;
    rd_kafka_TopicPartitionInfo_replicas(partitions[i], &replicas);
    const auto factor = static_cast<std::int32_t>(replicas);
    description.replication_factor = i == 0 ? factor : std::min(description.replication_factor, factor);
  }

  const ResourcePtr resource(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name));
  auto* raw = resource.get();
  auto configs = impl_->ask(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, doing, timeout, [&](const rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
    rd_kafka_DescribeConfigs(impl_->handle(), &raw, 1, options, queue);
  });
  if (!configs) {
    return std::unexpected(configs.error());
  }
  const auto** resources = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(configs->get()), &count);
  if (count != 1) {
    return fail(ErrorCode::kUnavailable, doing + ": the cluster answered for another topic");
  }
  // Another broker may answer this one, and not know the topic yet.
  const auto code = rd_kafka_ConfigResource_error(resources[0]);
  if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
    return std::optional<TopicDescription>();
  }
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return internal::failure(code, doing + ", its settings");
  }
  std::size_t entries = 0;
  const auto** config = rd_kafka_ConfigResource_configs(resources[0], &entries);
  for (const auto* entry : std::span(config, entries)) {
    if (const char* value = rd_kafka_ConfigEntry_value(entry); value != nullptr) {
      description.config.emplace(rd_kafka_ConfigEntry_name(entry), value);
    }
  }
  return description;
}

Result<std::optional<TopicDescription>> Admin::await(const std::string& topic, std::chrono::milliseconds patience,
                                                     std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto found = describe(topic, timeout);
    if (!found || *found || std::chrono::steady_clock::now() >= deadline) {
      return found;
    }
    std::this_thread::sleep_for(kBackoff);
  }
}

Result<std::vector<GroupMember>> Admin::group_members(const std::string& group, std::chrono::milliseconds timeout) const {
  const auto doing = std::format("describe group {}", group);
  const char* name = group.c_str();
  const auto event =
      impl_->ask(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, doing, timeout, [&](const rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_DescribeConsumerGroups(impl_->handle(), &name, 1, options, queue);
      });
  if (!event) {
    return std::unexpected(event.error());
  }
  std::size_t count = 0;
  const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(rd_kafka_event_DescribeConsumerGroups_result(event->get()), &count);
  if (count != 1) {
    return fail(ErrorCode::kUnavailable, doing + ": the cluster answered for another group");
  }
  const auto* described = *groups;
  if (const auto* error = rd_kafka_ConsumerGroupDescription_error(described); error != nullptr) {
    return internal::failure(rd_kafka_error_code(error), doing, rd_kafka_error_string(error));
  }
  std::vector<GroupMember> members;
  for (std::size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(described); ++i) {
    const auto* member = rd_kafka_ConsumerGroupDescription_member(described, i);
    const char* instance = rd_kafka_MemberDescription_group_instance_id(member);
    members.push_back({.id = rd_kafka_MemberDescription_consumer_id(member), .instance = instance == nullptr ? "" : instance});
  }
  return members;
}

Result<Watermarks> Admin::watermarks(const TopicPartition& partition, std::chrono::milliseconds timeout) const {
  Watermarks marks;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto code = rd_kafka_query_watermark_offsets(impl_->handle(), partition.topic.c_str(), partition.partition, &marks.low, &marks.high,
                                                       static_cast<int>(std::clamp(left, std::chrono::milliseconds{1}, kAttempt).count()));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      return marks;
    }
    // A leader that moved, or a topic that was just made, is known a moment later. librdkafka would go on asking the leader that it
    // has cached, a dead broker perhaps, until its metadata is minutes old.
    impl_->refresh_metadata();
    if (std::chrono::steady_clock::now() + kBackoff >= deadline) {
      return internal::failure(code, std::format("ask for the ends of {}/{}", partition.topic, partition.partition));
    }
    std::this_thread::sleep_for(kBackoff);
  }
}

}  // namespace outrigger::kafka
