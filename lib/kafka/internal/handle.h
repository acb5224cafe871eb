#pragma once

#include <librdkafka/rdkafka.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/kafka/record.h"
#include "lib/runtime/error.h"

/// Ownership over librdkafka's handles. Included by lib/kafka's sources only.
namespace outrigger::kafka::internal {

template <auto Function>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Function(object);
  }
};

using ConfPtr = std::unique_ptr<rd_kafka_conf_t, Deleter<rd_kafka_conf_destroy>>;
using HandlePtr = std::unique_ptr<rd_kafka_t, Deleter<rd_kafka_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, Deleter<rd_kafka_error_destroy>>;
using PartitionsPtr = std::unique_ptr<rd_kafka_topic_partition_list_t, Deleter<rd_kafka_topic_partition_list_destroy>>;
using MessagePtr = std::unique_ptr<rd_kafka_message_t, Deleter<rd_kafka_message_destroy>>;
using QueuePtr = std::unique_ptr<rd_kafka_queue_t, Deleter<rd_kafka_queue_destroy>>;
using EventPtr = std::unique_ptr<rd_kafka_event_t, Deleter<rd_kafka_event_destroy>>;

using Properties = std::map<std::string, std::string>;

/// A configuration of `defaults`, then the client's own and its extra properties. Log and errors go to telemetry.
/// Errors: kInvalidArgument naming the property.
[[nodiscard]] Result<ConfPtr> make_conf(const ClientSettings& settings, const Properties& defaults);

/// Takes the configuration. Errors: kInvalidArgument.
[[nodiscard]] Result<HandlePtr> make_handle(rd_kafka_type_t type, ConfPtr conf);

[[nodiscard]] PartitionsPtr make_partitions(std::span<const TopicPartition> partitions);
[[nodiscard]] PartitionsPtr make_positions(std::span<const Position> positions);
[[nodiscard]] std::vector<TopicPartition> read_partitions(const rd_kafka_topic_partition_list_t& list);

/// librdkafka's error as ours: kDeadlineExceeded, kInvalidArgument (will not get better), kUnavailable.
[[nodiscard]] std::unexpected<Error> failure(rd_kafka_resp_err_t code, std::string_view doing, std::string_view detail = {});

/// The outcome of one record: filled by the delivery report.
struct Delivery {
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__IN_PROGRESS;
  std::int64_t offset = -1;
};

/// The delivery report callback for records whose opaque is a Delivery.
void on_delivery(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque);

/// Queues a record; on a full queue serves delivery reports and tries again until `deadline`.
[[nodiscard]] rd_kafka_resp_err_t enqueue(rd_kafka_t& handle, const OutgoingRecord& record, Delivery& delivery,
                                          std::chrono::steady_clock::time_point deadline);

}  // namespace outrigger::kafka::internal
