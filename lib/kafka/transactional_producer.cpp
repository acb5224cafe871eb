#include "lib/kafka/transactional_producer.h"

#include <format>

#include "lib/kafka/internal/handle.h"

namespace outrigger::kafka {
namespace {

using internal::Delivery;
using internal::ErrorPtr;

constexpr int kRemainingTransactionTime = -1;  // the header: any other value risks internal state desynchronization

std::string describe(const rd_kafka_error_t& error) { return std::format("{} ({})", rd_kafka_error_string(&error), rd_kafka_error_name(&error)); }

bool is_generation_fence(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION || code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
}

bool is_producer_fence(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH || code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED;
}

}  // namespace

class TransactionalProducer::Impl {
 public:
  using Written = std::expected<std::vector<std::int64_t>, WriteError>;

  Impl(internal::HandlePtr handle, std::chrono::milliseconds timeout) : handle_(std::move(handle)), timeout_(timeout) {}

  ~Impl() {
    rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    while (rd_kafka_outq_len(handle_.get()) > 0 && rd_kafka_flush(handle_.get(), 1000) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    }
  }

  Result<void> initialise() {
    const auto deadline = std::chrono::steady_clock::now() + 2 * timeout_;
    for (;;) {
      const ErrorPtr error(rd_kafka_init_transactions(handle_.get(), static_cast<int>(timeout_.count())));
      if (!error) {
        return {};
      }
      if (!rd_kafka_error_is_retriable(error.get()) || std::chrono::steady_clock::now() >= deadline) {
        return fail(ErrorCode::kUnavailable, std::format("cannot begin to write transactions: {}", describe(*error)));
      }
    }
  }

  Written write(std::span<const OutgoingRecord> records, std::span<const Position> positions, const GroupMetadata& group) {
    if (is_spent_ || positions.empty()) {
      impossible("transaction", is_spent_ ? "the producer is spent" : "without positions it would fence nobody");
    }
    if (const ErrorPtr error(rd_kafka_begin_transaction(handle_.get())); error) {
      return not_begun("begin", rd_kafka_error_code(error.get()), describe(*error));
    }
    deliveries_.assign(records.size(), {});
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (const auto code = internal::enqueue(*handle_, records[i], deliveries_[i], deadline); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return not_begun(std::format("queue a record for {}/{}", records[i].topic, records[i].partition), code, rd_kafka_err2str(code));
      }
    }
    const auto offsets = internal::make_positions(positions);
    const auto* metadata = static_cast<const rd_kafka_consumer_group_metadata_t*>(group.handle());
    if (const ErrorPtr error(rd_kafka_send_offsets_to_transaction(handle_.get(), offsets.get(), metadata, kRemainingTransactionTime)); error) {
      return refused("send positions", *error, false);
    }
    if (const ErrorPtr error(rd_kafka_commit_transaction(handle_.get(), kRemainingTransactionTime)); error) {
      return refused("commit", *error, true);
    }
    std::vector<std::int64_t> written;
    for (const auto& delivery : deliveries_) {
      written.push_back(delivery.offset);
    }
    return written;
  }

  [[nodiscard]] bool is_spent() const { return is_spent_; }

 private:
  Written unknown(std::string_view doing, const rd_kafka_error_t& error) {
    is_spent_ = true;
    return std::unexpected(WriteError{WriteFailure::kUnknown, std::format("{}: {}", doing, describe(error))});
  }

  // Before the commit was asked for: a superseded producer's transaction can only have been aborted.
  Written not_begun(std::string_view doing, rd_kafka_resp_err_t code, std::string_view what) {
    is_spent_ = true;
    const bool is_superseded = is_producer_fence(code) || is_producer_fence(rd_kafka_fatal_error(handle_.get(), nullptr, 0));
    return std::unexpected(WriteError{is_superseded ? WriteFailure::kSuperseded : WriteFailure::kUnknown, std::format("{}: {}", doing, what)});
  }

  // Fenced is only what the coordinator said and an abort confirmed; whatever is less certain is unknown.
  Written refused(std::string_view doing, const rd_kafka_error_t& error, bool is_committing) {
    is_spent_ = true;
    const auto code = rd_kafka_error_code(&error);
    const bool is_instance = code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
    if (!is_committing && !is_instance && !is_generation_fence(code)) {
      return not_begun(doing, code, describe(error));
    }
    if (!rd_kafka_error_txn_requires_abort(&error) || !(is_instance || is_generation_fence(code))) {
      return unknown(doing, error);
    }
    if (const ErrorPtr abort(rd_kafka_abort_transaction(handle_.get(), kRemainingTransactionTime)); abort) {
      return unknown("abort", *abort);
    }
    return std::unexpected(
        WriteError{is_instance ? WriteFailure::kInstanceFenced : WriteFailure::kFenced, std::format("{}: {}", doing, describe(error))});
  }

  internal::HandlePtr handle_;
  std::chrono::milliseconds timeout_;
  std::vector<Delivery> deliveries_;  // delivery reports point here: outlives every flush
  bool is_spent_ = false;
};

Result<std::unique_ptr<TransactionalProducer>> TransactionalProducer::open(const TransactionalSettings& settings) {
  const auto timeout = std::to_string(settings.transaction_timeout.count());
  auto conf = internal::make_conf(settings.client, {{"transactional.id", settings.transactional_id},
                                                    {"transaction.timeout.ms", timeout},
                                                    {"message.timeout.ms", timeout},
                                                    {"acks", "all"},
                                                    {"linger.ms", "5"},
                                                    {"topic.metadata.propagation.max.ms", "5000"},
                                                    {"queue.buffering.max.messages", "100000"},
                                                    {"queue.buffering.max.kbytes", "131072"}});
  if (!conf) {
    return std::unexpected(conf.error());
  }
  rd_kafka_conf_set_dr_msg_cb(conf->get(), internal::on_delivery);
  auto handle = internal::make_handle(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!handle) {
    return std::unexpected(handle.error());
  }
  auto impl = std::make_unique<Impl>(std::move(*handle), settings.transaction_timeout);
  if (auto ready = impl->initialise(); !ready) {
    return fail(ready.error().code, ready.error().message, settings.transactional_id);
  }
  return std::unique_ptr<TransactionalProducer>(new TransactionalProducer(std::move(impl)));
}

TransactionalProducer::TransactionalProducer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TransactionalProducer::~TransactionalProducer() = default;

std::expected<std::vector<std::int64_t>, WriteError> TransactionalProducer::write(std::span<const OutgoingRecord> records,
                                                                                  std::span<const Position> positions, const GroupMetadata& group) {
  return impl_->write(records, positions, group);
}

bool TransactionalProducer::is_spent() const { return impl_->is_spent(); }

}  // namespace outrigger::kafka
