#include "lib/kafka/internal/handle.h"

#include <syslog.h>

#include <array>
#include <chrono>
#include <format>

#include "lib/telemetry/log.h"

namespace outrigger::kafka::internal {
namespace {

constexpr std::size_t kErrorText = 512;

void on_log(const rd_kafka_t* handle, int level, const char* facility, const char* text) {
  using telemetry::LogLevel;
  const auto ours = level <= LOG_CRIT      ? LogLevel::kError
                    : level <= LOG_WARNING ? LogLevel::kWarning
                    : level <= LOG_INFO    ? LogLevel::kInfo
                                           : LogLevel::kDebug;
  telemetry::log(ours, text, {{"component", "librdkafka"}, {"facility", facility}, {"client", handle == nullptr ? "" : rd_kafka_name(handle)}});
}

void on_error(rd_kafka_t* handle, int code, const char* text, void* /*opaque*/) {
  const auto error = static_cast<rd_kafka_resp_err_t>(code);
  telemetry::log(telemetry::LogLevel::kWarning, text,
                 {{"component", "librdkafka"}, {"error", rd_kafka_err2name(error)}, {"client", rd_kafka_name(handle)}});
}

}  // namespace

Result<ConfPtr> make_conf(const ClientSettings& settings, const Properties& defaults) {
  ConfPtr conf(rd_kafka_conf_new());
  auto properties = defaults;
  properties["bootstrap.servers"] = settings.bootstrap;
  properties["client.id"] = settings.client_id;
  // Faster than librdkafka's 100 ms to 10 s, because a broker that comes back is waited for by a commit.
  properties.try_emplace("reconnect.backoff.max.ms", "1000");
  properties.try_emplace("socket.nagle.disable", "true");
  properties.try_emplace("message.max.bytes", "4194304");
  for (const auto& [name, value] : settings.extra) {
    properties[name] = value;
  }
  std::array<char, kErrorText> text{};
  for (const auto& [name, value] : properties) {
    if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), text.data(), text.size()) != RD_KAFKA_CONF_OK) {
      return fail(ErrorCode::kInvalidArgument, std::format("Kafka property {}={}: {}", name, value, text.data()));
    }
  }
  rd_kafka_conf_set_log_cb(conf.get(), on_log);
  rd_kafka_conf_set_error_cb(conf.get(), on_error);
  return conf;
}

Result<HandlePtr> make_handle(rd_kafka_type_t type, ConfPtr conf) {
  std::array<char, kErrorText> text{};
  HandlePtr handle(rd_kafka_new(type, conf.get(), text.data(), text.size()));
  if (!handle) {
    return fail(ErrorCode::kInvalidArgument, std::format("cannot make a Kafka client: {}", text.data()));
  }
  static_cast<void>(conf.release());
  return handle;
}

PartitionsPtr make_partitions(std::span<const TopicPartition> partitions) {
  PartitionsPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const auto& partition : partitions) {
    rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(), partition.partition);
  }
  return list;
}

PartitionsPtr make_positions(std::span<const Position> positions) {
  PartitionsPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(positions.size())));
  for (const auto& position : positions) {
    rd_kafka_topic_partition_list_add(list.get(), position.partition.topic.c_str(), position.partition.partition)->offset = position.next;
  }
  return list;
}

std::vector<TopicPartition> read_partitions(const rd_kafka_topic_partition_list_t& list) {
  std::vector<TopicPartition> partitions;
  for (const auto& entry : std::span(list.elems, static_cast<std::size_t>(list.cnt))) {
    partitions.push_back({.topic = entry.topic, .partition = entry.partition});
  }
  return partitions;
}

std::unexpected<Error> failure(rd_kafka_resp_err_t code, std::string_view doing, std::string_view detail) {
  const auto message = std::format("{}: {} ({})", doing, detail.empty() ? std::string_view(rd_kafka_err2str(code)) : detail, rd_kafka_err2name(code));
  switch (code) {
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT: return fail(ErrorCode::kDeadlineExceeded, message);
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR: return fail(ErrorCode::kInvalidArgument, message);
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID: return fail(ErrorCode::kAborted, message);
    default: return fail(ErrorCode::kUnavailable, message);
  }
}

void on_delivery(rd_kafka_t* /*handle*/, const rd_kafka_message_t* message, void* /*opaque*/) {
  auto& delivery = *static_cast<Delivery*>(message->_private);
  delivery.error = message->err;
  delivery.offset = message->offset;
}

rd_kafka_resp_err_t enqueue(rd_kafka_t& handle, const OutgoingRecord& record, Delivery& delivery, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    rd_kafka_headers_t* headers = nullptr;
    if (!record.headers.empty()) {
      headers = rd_kafka_headers_new(record.headers.size());
      for (const auto& [name, value] : record.headers) {
        rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(), static_cast<ssize_t>(value.size()));
      }
    }
    // librdkafka's structure holds a void* that it only reads from with F_COPY.
    auto* value = record.value ? const_cast<char*>(record.value->data()) : nullptr;
    std::vector<rd_kafka_vu_t> arguments(6);
    arguments[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    arguments[0].u.cstr = record.topic.c_str();
    arguments[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    arguments[1].u.i32 = record.partition;
    arguments[2].vtype = RD_KAFKA_VTYPE_VALUE;
    arguments[2].u.mem = {.ptr = value, .size = record.value ? record.value->size() : 0};
    arguments[3].vtype = RD_KAFKA_VTYPE_KEY;
    arguments[3].u.mem = {.ptr = const_cast<char*>(record.key.data()), .size = record.key.size()};
    arguments[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    arguments[4].u.i = RD_KAFKA_MSG_F_COPY;
    arguments[5].vtype = RD_KAFKA_VTYPE_OPAQUE;
    arguments[5].u.ptr = &delivery;
    if (headers != nullptr) {
      arguments.push_back({.vtype = RD_KAFKA_VTYPE_HEADERS, .u = {.headers = headers}});
    }
    const ErrorPtr error(rd_kafka_produceva(&handle, arguments.data(), arguments.size()));
    if (!error) {
      return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    if (headers != nullptr) {
      rd_kafka_headers_destroy(headers);  // on failure they are still ours
    }
    const auto code = rd_kafka_error_code(error.get());
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || std::chrono::steady_clock::now() >= deadline) {
      return code;
    }
    rd_kafka_poll(&handle, 10);
  }
}

}  // namespace outrigger::kafka::internal
