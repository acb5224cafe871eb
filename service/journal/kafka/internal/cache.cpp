#include "service/journal/kafka/internal/cache.h"

#include <algorithm>
#include <charconv>
#include <format>
#include <map>
#include <set>

#include "lib/kafka/consumer.h"
#include "lib/telemetry/log.h"
#include "service/journal/kafka/metrics.h"

namespace outrigger::journal::internal {
namespace {

constexpr std::chrono::milliseconds kAsk{10'000};
constexpr std::chrono::milliseconds kPoll{100};
constexpr std::size_t kChunk = 500;
constexpr std::string_view kIdentity = "kafka/identity";

using Notes = std::vector<std::pair<std::string, std::string>>;

std::string next_note(std::uint32_t partition) { return std::format("kafka/next/{}", partition); }
std::string time_note(std::uint32_t partition) { return std::format("kafka/time/{}", partition); }

std::optional<std::int64_t> number(const std::optional<std::string>& text) {
  std::int64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{}) {
    return std::nullopt;
  }
  return value;
}

void note_progress(Notes& notes, std::uint32_t partition, std::int64_t next) {
  notes.emplace_back(next_note(partition), std::to_string(next));
  notes.emplace_back(time_note(partition), std::to_string(wall_now().time_since_epoch().count()));
}

/// Records of the topic on their way into the store; a key that comes again begins a new write, because one holds each once.
class Chunk {
 public:
  Chunk(RecordStore& store, const RecordCodec& codec) : store_(store), codec_(codec) {}

  Result<void> add(const kafka::ReceivedRecord& record) {
    const auto partition = static_cast<std::uint32_t>(record.partition);
    if (keys_.size() >= kChunk || keys_.contains({partition, record.key})) {
      if (auto flushed = flush(); !flushed) {
        return flushed;
      }
    }
    keys_.emplace(partition, record.key);
    next_[partition] = record.offset + 1;
    return codec_.add_state_record(record, batch_);
  }

  void pass(std::uint32_t partition, std::int64_t next) { next_[partition] = next; }

  Result<void> flush() {
    Notes notes;
    for (const auto& [partition, next] : next_) {
      note_progress(notes, partition, next);
    }
    auto applied = store_.apply(batch_, notes);
    batch_ = {};
    keys_.clear();
    next_.clear();
    return applied;
  }

 private:
  RecordStore& store_;
  const RecordCodec& codec_;
  Batch batch_;
  std::set<std::pair<std::uint32_t, std::string>> keys_;
  std::map<std::uint32_t, std::int64_t> next_;
};

}  // namespace

Cache::Cache(const KafkaSettings& settings, const RecordCodec& codec, const kafka::Admin& admin, telemetry::Registry& metrics)
    : settings_(settings), codec_(codec), admin_(admin), metrics_(metrics) {}

Result<std::unique_ptr<Cache>> Cache::open(const KafkaSettings& settings, const RecordCodec& codec, const kafka::Admin& admin,
                                           telemetry::Registry& metrics) {
  auto cache = std::unique_ptr<Cache>(new Cache(settings, codec, admin, metrics));
  const auto cluster = admin.cluster_id(kAsk);
  if (!cluster) {
    return std::unexpected(cluster.error());
  }
  const auto topic = admin.await(codec.topics().state, kAsk, kAsk);
  if (!topic) {
    return std::unexpected(topic.error());
  }
  if (!*topic) {
    return fail(ErrorCode::kFailedPrecondition, std::format("topic {} is missing", codec.topics().state));
  }
  if (const auto kept = (*topic)->config.find("delete.retention.ms"); kept != (*topic)->config.end()) {
    cache->tombstones_kept_ = std::chrono::milliseconds(number(kept->second).value_or(0));
  }
  const RecordStore::Settings wanted{.folder = settings.cache_folder, .partitions = settings.topics.partitions, .synchronous = false};
  const auto throw_away = [&](std::string_view reason) {
    telemetry::log(telemetry::LogLevel::kWarning, "the local cache is thrown away and will be read anew",
                   {{"folder", settings.cache_folder.string()}, {"why", std::string(reason)}});
    metrics.counter(metrics::kCacheWipes, {{"reason", std::string(reason)}}).add(settings.topics.partitions);
    std::error_code ignored;
    std::filesystem::remove_all(settings.cache_folder, ignored);
  };
  auto store = RecordStore::open(wanted);
  if (!store && store.error().code == ErrorCode::kDataLoss) {
    throw_away("damaged");
    store = RecordStore::open(wanted);
  }
  const auto identity = std::format("{}/{}", *cluster, (*topic)->id);
  if (store) {
    const auto filled_by = (*store)->note(kIdentity);
    if (filled_by && *filled_by && **filled_by != identity) {
      store->reset();
      throw_away("another topic");
      store = RecordStore::open(wanted);
    }
  }
  if (!store) {
    return std::unexpected(store.error());
  }
  cache->store_ = std::move(*store);
  if (auto noted = cache->store_->apply({}, Notes{{std::string(kIdentity), identity}}); !noted) {
    return std::unexpected(noted.error());
  }
  return cache;
}

Result<void> Cache::wipe(std::uint32_t partition, std::string_view reason) {
  metrics_.counter(metrics::kCacheWipes, {{"reason", std::string(reason)}}).add();
  return store_->wipe(partition).and_then([&] { return store_->apply({}, Notes{{next_note(partition), "0"}}); });
}

Result<Cache::Range> Cache::measure(std::uint32_t partition) {
  const auto ends = admin_.watermarks({.topic = codec_.topics().state, .partition = static_cast<std::int32_t>(partition)}, kAsk);
  if (!ends) {
    return std::unexpected(ends.error());
  }
  const auto next = store_->note(next_note(partition)).transform(number);
  const auto time = store_->note(time_note(partition)).transform(number);
  if (!next || !time) {
    return std::unexpected(!next ? next.error() : time.error());
  }
  if (!*next) {
    return Range{.partition = partition, .next = ends->low, .end = ends->high};
  }
  const auto age = std::chrono::milliseconds(wall_now().time_since_epoch().count() - time->value_or(0));
  const auto* reason = **next > ends->high                                       ? "beyond the log's end"
                       : **next < ends->low                                      ? "before the log's start"
                       : **next > 0 && age > tombstones_kept_ && age.count() > 0 ? "older than tombstones are kept"
                                                                                 : nullptr;
  if (reason == nullptr) {
    return Range{.partition = partition, .next = **next, .end = ends->high};
  }
  if (auto wiped = wipe(partition, reason); !wiped) {
    return std::unexpected(wiped.error());
  }
  return Range{.partition = partition, .next = ends->low, .end = ends->high};
}

Result<void> Cache::catch_up(std::span<const std::uint32_t> partitions, const std::function<bool()>& is_wanted) {
  if (auto recovered = store_->recover(); !recovered) {
    return recovered;
  }
  std::vector<Range> ranges;
  for (const auto partition : partitions) {
    auto range = measure(partition);
    if (!range) {
      return std::unexpected(range.error());
    }
    if (range->next < range->end) {
      ranges.push_back(*range);
    }
  }
  return ranges.empty() ? Result<void>() : read(std::move(ranges), is_wanted);
}

Result<void> Cache::read(std::vector<Range> ranges, const std::function<bool()>& is_wanted) {
  auto consumer = kafka::Consumer::create({.client = settings_.client, .group = "outrigger-restore", .instance = {}, .partition_eof = true});
  if (!consumer) {
    return std::unexpected(consumer.error());
  }
  std::vector<kafka::Position> positions;
  for (const auto& range : ranges) {
    positions.push_back({.partition = {.topic = codec_.topics().state, .partition = static_cast<std::int32_t>(range.partition)}, .next = range.next});
  }
  if (auto assigned = (*consumer)->assign(positions); !assigned) {
    return assigned;
  }
  auto& restored = metrics_.counter(metrics::kRestoredRecords);
  Chunk chunk(*store_, codec_);
  auto deadline = std::chrono::steady_clock::now() + settings_.restore_stall;
  std::string last_problem;
  while (std::ranges::any_of(ranges, [](const Range& range) { return range.next < range.end; })) {
    if (!is_wanted()) {
      return fail(ErrorCode::kAborted, "the partitions were revoked while they were restored");
    }
    auto polled = (*consumer)->poll(kPoll);
    std::int64_t next = -1;
    std::int32_t partition = -1;
    if (const auto* record = std::get_if<kafka::ReceivedRecord>(&polled)) {
      if (auto added = chunk.add(*record); !added) {
        return added;
      }
      restored.add();
      partition = record->partition;
      next = record->offset + 1;
    } else if (const auto* end = std::get_if<kafka::EndOfPartition>(&polled)) {
      // The last offsets may be a transaction's marker, or of an aborted one: no record will come from there.
      partition = end->partition.partition;
      next = end->next;
      chunk.pass(static_cast<std::uint32_t>(partition), next);
    } else if (const auto* error = std::get_if<kafka::ConsumerError>(&polled)) {
      last_problem = error->message;
    }
    for (auto& range : ranges) {
      if (range.partition == static_cast<std::uint32_t>(partition) && next > range.next) {
        range.next = next;
        deadline = std::chrono::steady_clock::now() + settings_.restore_stall;
      }
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      const auto behind = *std::ranges::find_if(ranges, [](const Range& range) { return range.next < range.end; });
      return fail(ErrorCode::kDeadlineExceeded,
                  std::format("the restore stopped at offset {} of {} for {} s: {}", behind.next, behind.end, settings_.restore_stall.count() / 1000,
                              last_problem.empty() ? "a transaction stays open there, or no broker answers" : last_problem),
                  std::format("{}/{}", codec_.topics().state, behind.partition));
    }
  }
  return chunk.flush();
}

Result<void> Cache::apply(const Batch& batch, std::span<const kafka::OutgoingRecord> records, std::span<const std::int64_t> offsets) {
  std::map<std::uint32_t, std::int64_t> next;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].topic == codec_.topics().state) {
      auto& end = next[static_cast<std::uint32_t>(records[i].partition)];
      end = std::max(end, offsets[i] + 1);
    }
  }
  if (next.empty()) {
    return {};
  }
  Notes notes;
  for (const auto& [partition, end] : next) {
    note_progress(notes, partition, end);
  }
  return store_->apply(batch, notes);
}

}  // namespace outrigger::journal::internal
