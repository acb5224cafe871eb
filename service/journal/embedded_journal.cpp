#include "service/journal/embedded_journal.h"

#include <atomic>
#include <utility>

#include "service/journal/record_store.h"

namespace outrigger::journal {
namespace {

/// One process, so one assignment of all partitions from start() to stop(); the folder's lock is the fence between processes.
class EmbeddedJournal final : public Journal {
 public:
  explicit EmbeddedJournal(std::unique_ptr<RecordStore> store) : store_(std::move(store)) {}
  ~EmbeddedJournal() override { stop(); }
  EmbeddedJournal(const EmbeddedJournal&) = delete;
  EmbeddedJournal& operator=(const EmbeddedJournal&) = delete;

  [[nodiscard]] std::uint32_t partitions() const override { return store_->partitions(); }
  [[nodiscard]] bool delivers_commands() const override { return false; }

  [[nodiscard]] Result<void> start(Listener& listener) override {
    if (listener_ != nullptr) {
      return fail(ErrorCode::kFailedPrecondition, "the journal has been started already");
    }
    listener_ = &listener;
    owned_ = true;
    std::vector<Assignment> all;
    for (std::uint32_t partition = 0; partition < partitions(); ++partition) {
      all.push_back({.partition = partition, .epoch = 1});
    }
    listener.on_assigned(all);
    return {};
  }

  void stop() override {
    if (auto* listener = std::exchange(listener_, nullptr)) {
      std::vector<std::uint32_t> all;
      for (std::uint32_t partition = 0; partition < partitions(); ++partition) {
        all.push_back(partition);
      }
      listener->on_revoked(all);
      owned_ = false;
    }
  }

  [[nodiscard]] Result<std::unique_ptr<LaneJournal>> open_lane(unsigned) override { return std::make_unique<Lane>(*this); }

  [[nodiscard]] Result<std::shared_ptr<const saga::SagaState>> load(std::string_view saga_id) const override { return store_->load(saga_id); }
  [[nodiscard]] Result<std::optional<KeyRecord>> find_key(std::string_view definition, std::string_view key) const override {
    return store_->find_key(definition, key);
  }
  [[nodiscard]] Result<ListPage> list(const ListQuery& query) const override { return store_->list(query); }
  [[nodiscard]] Result<std::vector<std::string>> finished_before(std::uint32_t partition, WallTime time, std::size_t limit) const override {
    return store_->finished_before(partition, time, limit);
  }
  [[nodiscard]] Result<void> health() const override { return store_->health(); }

 private:
  class Lane final : public LaneJournal {
   public:
    explicit Lane(EmbeddedJournal& journal) : journal_(journal) {}

    [[nodiscard]] Result<std::vector<Restored>> restore(std::span<const Assignment> assignments,
                                                        const std::function<void(const saga::SagaState&)>& unfinished) override {
      if (!journal_.owned_) {
        return fail(ErrorCode::kAborted, "the journal has been stopped");
      }
      auto& store = *journal_.store_;
      if (auto recovered = store.recover(); !recovered) {
        return std::unexpected(recovered.error());
      }
      std::vector<Restored> all;
      for (const auto& assignment : assignments) {
        auto definitions = store.definitions(assignment.partition);
        const auto position = store.position(assignment.partition);
        if (!definitions || !position) {
          return std::unexpected(definitions ? position.error() : definitions.error());
        }
        if (auto read = store.each_unfinished(assignment.partition, unfinished); !read) {
          return std::unexpected(read.error());
        }
        all.push_back({.assignment = assignment, .session = ++journal_.sessions_, .position = *position, .definitions = std::move(*definitions)});
      }
      return all;
    }

    [[nodiscard]] Result<void> commit(const Batch& batch) override {
      check_batch(batch);
      if (!journal_.owned_) {
        return fail(ErrorCode::kAborted, "the journal has been stopped");
      }
      return journal_.store_->apply(batch);
    }

   private:
    EmbeddedJournal& journal_;
  };

  std::unique_ptr<RecordStore> store_;
  Listener* listener_ = nullptr;
  std::atomic<bool> owned_ = false;
  std::atomic<std::uint64_t> sessions_ = 0;
};

}  // namespace

Result<std::unique_ptr<Journal>> open_embedded_journal(const EmbeddedSettings& settings) {
  auto store =
      RecordStore::open({.folder = settings.folder, .partitions = settings.partitions, .synchronous = settings.synchronous, .env = settings.env});
  if (!store) {
    return std::unexpected(store.error());
  }
  return std::make_unique<EmbeddedJournal>(std::move(*store));
}

}  // namespace outrigger::journal
