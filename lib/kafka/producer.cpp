#include "lib/kafka/producer.h"

#include <format>

#include "lib/kafka/internal/handle.h"

namespace outrigger::kafka {

using internal::Delivery;

class Producer::Impl {
 public:
  explicit Impl(internal::HandlePtr handle) : handle_(std::move(handle)) {}

  ~Impl() {
    // Nothing is owed to anybody: send() has returned.
    rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_flush(handle_.get(), 1000);
  }

  Result<std::vector<std::int64_t>> send(std::span<const OutgoingRecord> records, std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::vector<Delivery> deliveries(records.size());
    auto problem = RD_KAFKA_RESP_ERR_NO_ERROR;
    std::size_t queued = 0;
    while (queued < records.size() && problem == RD_KAFKA_RESP_ERR_NO_ERROR) {
      problem = internal::enqueue(*handle_, records[queued], deliveries[queued], deadline);
      queued += problem == RD_KAFKA_RESP_ERR_NO_ERROR ? 1 : 0;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (rd_kafka_flush(handle_.get(), std::max(1, static_cast<int>(left.count()))) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      // The delivery reports point into `deliveries`: none may come after this returns.
      rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
      while (rd_kafka_flush(handle_.get(), 1000) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      }
    }
    if (rd_kafka_fatal_error(handle_.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return fail(ErrorCode::kInternal, std::format("the producer is broken: {}", rd_kafka_err2str(rd_kafka_fatal_error(handle_.get(), nullptr, 0))));
    }
    if (problem != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return internal::failure(problem, std::format("cannot queue a record for {}/{}", records[queued].topic, records[queued].partition));
    }
    std::vector<std::int64_t> offsets;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (deliveries[i].error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return internal::failure(deliveries[i].error, std::format("cannot write to {}/{}", records[i].topic, records[i].partition));
      }
      offsets.push_back(deliveries[i].offset);
    }
    return offsets;
  }

 private:
  internal::HandlePtr handle_;
};

Result<std::unique_ptr<Producer>> Producer::create(const ClientSettings& settings) {
  auto conf = internal::make_conf(settings, {{"enable.idempotence", "true"},
                                             {"acks", "all"},
                                             {"linger.ms", "5"},
                                             {"topic.metadata.propagation.max.ms", "5000"},
                                             {"queue.buffering.max.messages", "100000"},
                                             {"queue.buffering.max.kbytes", "65536"}});
  if (!conf) {
    return std::unexpected(conf.error());
  }
  rd_kafka_conf_set_dr_msg_cb(conf->get(), internal::on_delivery);
  auto handle = internal::make_handle(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!handle) {
    return std::unexpected(handle.error());
  }
  return std::unique_ptr<Producer>(new Producer(std::make_unique<Impl>(std::move(*handle))));
}

Producer::Producer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Producer::~Producer() = default;

Result<std::vector<std::int64_t>> Producer::send(std::span<const OutgoingRecord> records, std::chrono::milliseconds timeout) {
  return impl_->send(records, timeout);
}

}  // namespace outrigger::kafka
