#include "service/participants_program/carrier.h"

#include <condition_variable>
#include <format>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/kafka/admin.h"
#include "lib/kafka/consumer.h"
#include "lib/kafka/message_codec.h"
#include "lib/kafka/producer.h"
#include "lib/runtime/lifecycle.h"
#include "lib/telemetry/log.h"
#include "service/journal/kafka/topics.h"
#include "service/participants_program/metrics.h"

namespace outrigger::participants {
namespace {

using participant::Command;
using telemetry::LogLevel;

constexpr std::chrono::milliseconds kPoll{50};
constexpr std::chrono::milliseconds kAsk{10'000};
constexpr std::chrono::milliseconds kSend{20'000};
constexpr std::chrono::milliseconds kTryAgain{500};

}  // namespace

class Carrier::Impl {
 public:
  Impl(CarrierSettings settings, std::unique_ptr<orders::Participant> participant, contracts::SchemaRegistry contracts, telemetry::Registry& registry)
      : settings_(std::move(settings)),
        participant_(std::move(participant)),
        contracts_(std::move(contracts)),
        codec_(contracts_, settings_.contract_package),
        codec_as_text_(contracts_, {}),
        labels_{{"participant", std::string(name(participant_->kind()))}},
        metrics_(registry) {}

  Result<void> start() {
    auto admin = kafka::Admin::create(settings_.client);
    auto consumer = kafka::Consumer::create({.client = settings_.client,
                                             .group = std::format("outrigger-{}", name(participant_->kind())),
                                             .instance = std::format("{}-{}", settings_.instance, name(participant_->kind())),
                                             .session_timeout = settings_.session_timeout});
    if (!admin || !consumer) {
      return std::unexpected(!admin ? admin.error() : consumer.error());
    }
    admin_ = std::move(*admin);
    consumer_ = std::move(*consumer);
    const auto joined = consumer_->subscribe(
        {std::string(destination(participant_->kind()))},
        {.assigned = [this](const kafka::GroupMetadata&, std::vector<kafka::TopicPartition> partitions) { to_begin_ = std::move(partitions); },
         .revoked =
             [this](const std::vector<kafka::TopicPartition>&, bool) {
               // Nothing is under way here: a batch is finished before the next poll.
               to_begin_.clear();
               batch_.clear();
               done_.clear();
               set_owned(0);
             }});
    if (!joined) {
      return joined;
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    return {};
  }

  ~Impl() {
    if (thread_.joinable()) {
      thread_.request_stop();
      thread_.join();
    }
  }

  Result<void> ready() const {
    const std::lock_guard lock(state_mutex_);
    if (!problem_.empty()) {
      return fail(ErrorCode::kUnavailable, problem_);
    }
    return owned_ > 0 ? Result<void>() : fail(ErrorCode::kUnavailable, "no partitions of the command topic yet");
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      auto polled = consumer_->poll(batch_.empty() ? kPoll : std::chrono::milliseconds{0});
      begin_partitions(stop);
      if (auto* record = std::get_if<kafka::ReceivedRecord>(&polled)) {
        batch_.push_back(std::move(*record));
      } else if (const auto* error = std::get_if<kafka::ConsumerError>(&polled)) {
        on_error(*error);
      }
      const bool is_complete = batch_.size() >= settings_.batch_limit || !std::holds_alternative<kafka::ReceivedRecord>(polled);
      if (!batch_.empty() && is_complete) {
        carry(stop);
      }
      commit();
    }
    consumer_->close();
  }

  // Where reading begins is asked once the assignment stands; until then the partitions are paused.
  void begin_partitions(const std::stop_token& stop) {
    if (to_begin_.empty() || stop.stop_requested()) {
      return;
    }
    const auto committed = consumer_->committed(to_begin_, kAsk);
    if (!committed) {
      set_problem(committed.error().to_string());
      return;
    }
    for (std::size_t i = 0; i < to_begin_.size(); ++i) {
      const auto ends = admin_->watermarks(to_begin_[i], kAsk);
      if (!ends) {
        set_problem(ends.error().to_string());
        return;
      }
      const auto position = (*committed)[i].value_or(ends->low);
      if (auto sought = consumer_->seek({.partition = to_begin_[i], .next = position < ends->low || position > ends->high ? ends->low : position});
          !sought) {
        set_problem(sought.error().to_string());
        return;
      }
    }
    set_problem({});
    set_owned(to_begin_.size());
    to_begin_.clear();
  }

  void carry(const std::stop_token& stop) {
    const auto began = std::chrono::steady_clock::now();
    pause_for(participant_->latency(), stop);
    std::vector<Command> commands;
    std::vector<std::string> reply_topics;
    std::vector<kafka::OutgoingRecord> answers;
    for (const auto& record : batch_) {
      auto command = read(record);
      if (command) {
        commands.push_back(std::move(*command));
        reply_topics.emplace_back(*record.header(kafka::header::kReplyTo));
      } else {
        answers.push_back(dead_letter(record, command.error()));
      }
    }
    metrics_.counter(metrics::kCommands, labels_).add(commands.size());
    const auto replies = participant_->process(commands);
    for (std::size_t i = 0; i < replies.size(); ++i) {
      answers.push_back(answer(replies[i], commands[i], reply_topics[i]));
    }
    if (deliver(answers, stop)) {
      for (const auto& record : batch_) {
        auto& next = done_[{.topic = record.topic, .partition = record.partition}];
        next = std::max(next, record.offset + 1);
      }
      next_commit_ = {};
    }
    batch_.clear();
    metrics_.histogram(metrics::kBatchDuration, telemetry::kLatencySeconds, labels_).observe(std::chrono::steady_clock::now() - began);
  }

  // The reply-to header and the key are part of the contract, but not of the command.
  [[nodiscard]] Result<Command> read(const kafka::ReceivedRecord& record) const {
    auto command = codec_.decode_command(record);
    if (!command) {
      return command;
    }
    if (record.header(kafka::header::kReplyTo).value_or("").empty()) {
      return fail(ErrorCode::kInvalidArgument, std::format("header {} is missing", kafka::header::kReplyTo), record.position());
    }
    if (record.header(kafka::header::kIdempotencyKey) != command->idempotency_key()) {
      return fail(ErrorCode::kInvalidArgument, std::format("header {} is not {}", kafka::header::kIdempotencyKey, command->idempotency_key()),
                  record.position());
    }
    return command;
  }

  kafka::OutgoingRecord dead_letter(const kafka::ReceivedRecord& record, const Error& why) {
    metrics_.counter(metrics::kDeadLetters, labels_).add();
    telemetry::log(LogLevel::kWarning, "a record is no command and goes to the dead-letter topic",
                   {{"position", record.position()}, {"why", why.message}});
    kafka::OutgoingRecord letter{
        .topic = dead_letters_, .partition = record.partition, .key = record.key, .value = record.value, .headers = record.headers};
    letter.headers.emplace_back(kafka::header::kOrigin, record.position());
    letter.headers.emplace_back(kafka::header::kReason, why.message);
    return letter;
  }

  kafka::OutgoingRecord answer(const participant::Reply& reply, const Command& command, std::string_view topic) {
    auto labels = labels_;
    labels.emplace_back("outcome", name(reply.outcome));
    metrics_.counter(metrics::kReplies, labels).add();
    auto record = codec_.encode(reply, command, topic);
    if (!record) {
      metrics_.counter(metrics::kContractFallbacks, labels_).add();
      record = codec_as_text_.encode(reply, command, topic);
    }
    if (!record) {
      impossible("reply", record.error().to_string());
    }
    return std::move(*record);
  }

  // Until they are acknowledged; false: the process stops before.
  bool deliver(const std::vector<kafka::OutgoingRecord>& answers, const std::stop_token& stop) {
    while (!answers.empty()) {
      const auto sent = send(answers);
      if (sent) {
        break;
      }
      retrying(sent.error());
      if (stop.stop_requested()) {
        return false;
      }
      pause_for(kTryAgain, stop);
    }
    return true;
  }

  // Between two polls, and never in a loop of its own: a consumer that is stuck or fenced is mended by poll(), which then takes the
  // partitions away, and what was not committed is read again.
  void commit() {
    const auto now = std::chrono::steady_clock::now();
    if (done_.empty() || now < next_commit_) {
      return;
    }
    std::vector<kafka::Position> positions;
    for (const auto& [partition, next] : done_) {
      positions.push_back({.partition = partition, .next = next});
    }
    if (const auto committed = consumer_->commit(positions); !committed && committed.error().code != ErrorCode::kAborted) {
      next_commit_ = now + kTryAgain;
      retrying(committed.error());
      return;
    }
    done_.clear();  // aborted: another process has the partitions and will read the batch again
    set_problem({});
  }

  void retrying(const Error& why) {
    metrics_.counter(metrics::kFailures, labels_).add();
    set_problem(why.to_string());
  }

  Result<void> send(const std::vector<kafka::OutgoingRecord>& answers) {
    if (!producer_) {
      auto made = kafka::Producer::create(settings_.client);
      if (!made) {
        return std::unexpected(made.error());
      }
      producer_ = std::move(*made);
    }
    const auto sent = producer_->send(answers, kSend);
    if (!sent) {
      producer_.reset();
      return std::unexpected(sent.error());
    }
    return {};
  }

  void on_error(const kafka::ConsumerError& error) {
    if (error.is_instance_fenced) {
      const auto why = std::format("another process runs with the instance name {}: give each its own ({})", settings_.instance, error.message);
      set_problem(why);
      if (!is_ended_) {
        is_ended_ = true;
        telemetry::log(LogLevel::kError, why);
        settings_.on_fatal(exit_code::kBadConfiguration, why);
      }
      return;
    }
    if (error.is_out_of_range && error.partition) {
      to_begin_.push_back(*error.partition);
      return;
    }
    if (error.is_restarted) {
      metrics_.counter(metrics::kConsumersRestarted, labels_).add();
    }
    telemetry::log(LogLevel::kWarning, "the command consumer reports", {{"participant", labels_.front().second}, {"why", error.message}});
  }

  void pause_for(std::chrono::milliseconds time, const std::stop_token& stop) {
    if (time.count() > 0) {
      std::unique_lock lock(pause_mutex_);
      pause_.wait_for(lock, stop, time, [] { return false; });
    }
  }

  void set_owned(std::size_t count) {
    metrics_.gauge(metrics::kPartitions, labels_).set(static_cast<double>(count));
    const std::lock_guard lock(state_mutex_);
    owned_ = count;
  }

  void set_problem(const std::string& problem) {
    const std::lock_guard lock(state_mutex_);
    if (problem != problem_ && !problem.empty()) {
      telemetry::log(LogLevel::kWarning, "commands cannot be carried now; trying again", {{"participant", labels_.front().second}, {"why", problem}});
    }
    if (!is_ended_ || !problem.empty()) {
      problem_ = problem;
    }
  }

  CarrierSettings settings_;
  std::unique_ptr<orders::Participant> participant_;
  contracts::SchemaRegistry contracts_;
  kafka::MessageCodec codec_;
  kafka::MessageCodec codec_as_text_;
  telemetry::Labels labels_;
  telemetry::Registry& metrics_;
  std::string dead_letters_ = journal::TopicNames::of({}).dead_letters;
  std::unique_ptr<kafka::Admin> admin_;
  std::unique_ptr<kafka::Producer> producer_;

  // The thread's own.
  std::vector<kafka::TopicPartition> to_begin_;
  std::vector<kafka::ReceivedRecord> batch_;
  std::map<kafka::TopicPartition, std::int64_t> done_;  ///< answered, and not committed yet
  std::chrono::steady_clock::time_point next_commit_;
  bool is_ended_ = false;

  std::mutex pause_mutex_;
  std::condition_variable_any pause_;
  mutable std::mutex state_mutex_;
  std::size_t owned_ = 0;
  std::string problem_;
  std::unique_ptr<kafka::Consumer> consumer_;  // its callbacks reach all of the above
  std::jthread thread_;
};

Result<std::unique_ptr<Carrier>> Carrier::start(CarrierSettings settings, std::unique_ptr<orders::Participant> participant,
                                                contracts::SchemaRegistry contracts, telemetry::Registry& registry) {
  auto impl = std::make_unique<Impl>(std::move(settings), std::move(participant), std::move(contracts), registry);
  if (auto started = impl->start(); !started) {
    return std::unexpected(started.error());
  }
  return std::unique_ptr<Carrier>(new Carrier(std::move(impl)));
}

Carrier::Carrier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Carrier::~Carrier() = default;
Result<void> Carrier::ready() const { return impl_->ready(); }

}  // namespace outrigger::participants
