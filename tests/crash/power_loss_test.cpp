// SIGKILL leaves the page cache, so it proves nothing about synchronous writes. Here journal, lanes and participants run on a disk
// whose power is cut at random operations and that then loses what was not synchronised.
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <format>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/participant/sqlite.h"
#include "service/journal/embedded_journal.h"
#include "service/orders/in_process_transport.h"
#include "service/saga/engine.h"
#include "tests/support/power_cut.h"
#include "tests/support/temporary_folder.h"

namespace outrigger {
namespace {

using testing::PowerCut;
using testing::TemporaryFolder;
using namespace std::chrono_literals;

constexpr int kCuts = 30;
constexpr int kCutsOfControl = 8;
constexpr std::uint64_t kOperationsToCut = 2'000;  // at most; opening takes about a hundred, an order about forty
constexpr int kOrdersInFlight = 24;

struct Promises {
  bool journal = true;       ///< synchronous writes of the journal
  bool participants = true;  ///< and of the participants
};

std::filesystem::path source_folder() {
  const char* folder = std::getenv("OUTRIGGER_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe): nobody sets the environment
  return folder == nullptr ? "." : folder;
}

/// What the service is made of, but for HTTP.
struct Stack {
  telemetry::Registry registry;
  std::unique_ptr<journal::Journal> journal;
  std::unique_ptr<orders::InProcessTransport> transport;
  std::unique_ptr<saga::Engine> engine;

  static Result<std::unique_ptr<Stack>> open(const std::filesystem::path& folder, PowerCut& disk, Promises promises) {
    auto stack = std::make_unique<Stack>();
    auto journal =
        journal::open_embedded_journal({.folder = folder / "journal", .partitions = 8, .synchronous = promises.journal, .env = disk.env()});
    if (!journal) {
      return std::unexpected(journal.error());
    }
    stack->journal = *std::move(journal);
    const auto catalogue = orders::load_catalogue(source_folder() / "examples" / "catalogue.yaml").value();
    std::vector<std::unique_ptr<orders::Participant>> participants;
    for (const auto kind : orders::kParticipantKinds) {
      auto participant = orders::Participant::open(
          kind, {.folder = folder, .misbehaviour = {}, .database = {.vfs = disk.vfs(), .synchronous = promises.participants}}, catalogue,
          stack->registry);
      if (!participant) {
        return std::unexpected(participant.error());
      }
      participants.push_back(*std::move(participant));
    }
    stack->transport = std::make_unique<orders::InProcessTransport>(orders::InProcessTransport::Settings{}, std::move(participants), stack->registry);
    stack->engine = std::make_unique<saga::Engine>(saga::EngineSettings{.lanes = 2},
                                                   saga::Catalog::load(source_folder() / "service" / "orders" / "definitions").value(),
                                                   *stack->journal, stack->transport.get(), stack->registry);
    stack->transport->start(*stack->engine);
    if (auto running = stack->engine->run(); !running) {
      return std::unexpected(running.error());
    }
    return stack;
  }

  ~Stack() {
    if (engine) {
      engine->stop();
      transport->stop();
    }
  }
};

saga::StartRequest order_number(int number) {
  constexpr std::array kCountries{"DE", "DE", "DE", "AQ"};        // nobody delivers to AQ: undone
  constexpr std::array kCustomers{"C-1001", "C-1002", "C-9002"};  // no credit for C-9002: undone from the last step
  return {
      .definition = "order-fulfilment",
      .idempotency_key = std::format("order-{}", number),
      .business_key = std::format("O-{}", number),
      .input = std::format(
          R"({{"order_id":"O-{}","customer_id":"{}","country":"{}","lines":[{{"sku":"ROPE-HEMP","quantity":1,"unit_price_cents":100}}]}})", number,
          kCustomers.at(static_cast<std::size_t>(number) % kCustomers.size()), kCountries.at(static_cast<std::size_t>(number) % kCountries.size())),
      .traceparent = {}};
}

/// Orders that were sent, and which saga was acknowledged for each. Outlives the engines that answer.
class Clients {
 public:
  /// Sends new orders, some at a time, until the power is gone. False: it never went.
  bool send_until_cut(saga::Engine& engine, const PowerCut& disk) {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!disk.is_cut()) {
      std::unique_lock lock(mutex_);
      if (std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      if (!answered_.wait_for(lock, 10ms, [&] { return unanswered_ < kOrdersInFlight; })) {
        continue;
      }
      ++unanswered_;
      const int number = sent_++;
      lock.unlock();
      engine.start(order_number(number), [this, number](const Result<saga::Started>& started) {
        const std::lock_guard answer_lock(mutex_);
        --unanswered_;
        if (started) {
          acknowledged_[number] = started->saga->id;
        }
        answered_.notify_all();
      });
    }
    return true;
  }

  [[nodiscard]] int sent() const { return sent_; }
  [[nodiscard]] const std::map<int, std::string>& acknowledged() const { return acknowledged_; }

 private:
  std::mutex mutex_;
  std::condition_variable answered_;
  int unanswered_ = 0;
  int sent_ = 0;
  std::map<int, std::string> acknowledged_;
};

/// Saga -> directions of its effects in one participant's database, in their order.
std::map<std::string, std::string> effects_of(const std::filesystem::path& file) {
  std::map<std::string, std::string> effects;
  auto database = participant::Database::open(file).value();
  auto rows = database.prepare("SELECT effect_id FROM effects ORDER BY sequence").value();
  while (rows.step().value_or(false)) {
    const auto id = rows.text(0);
    effects[id.substr(0, id.find('/'))] += id.substr(id.rfind('/') + 1) + " ";
  }
  return effects;
}

struct Verdict {
  std::vector<std::string> problems;
  std::uint64_t lost_bytes = 0;
  std::size_t acknowledged = 0;
  std::size_t effects = 0;
};

/// Sends every order again, waits for its end, and compares with the participants' databases.
void judge(const std::filesystem::path& folder, saga::Engine& engine, const Clients& clients, Verdict& verdict) {
  std::map<std::string, saga::SagaStatus> ended;
  for (int number = 0; number < clients.sent(); ++number) {
    std::promise<Result<saga::Started>> answer;
    engine.start(order_number(number), [&](Result<saga::Started> started) { answer.set_value(std::move(started)); });
    const auto started = answer.get_future().get();
    if (!started) {
      verdict.problems.push_back(std::format("order {} cannot be sent again: {}", number, started.error().to_string()));
      continue;
    }
    if (const auto known = clients.acknowledged().find(number); known != clients.acknowledged().end() && known->second != started->saga->id) {
      verdict.problems.push_back(std::format("order {} was acknowledged as {} and is lost", number, known->second));
    }
    std::promise<Result<saga::SagaPointer>> end;
    engine.wait(started->saga->id, {.after_version = {}, .deadline = std::chrono::steady_clock::now() + 30s},
                [&](Result<saga::SagaPointer> saga) { end.set_value(std::move(saga)); });
    const auto saga = end.get_future().get();
    if (!saga || !(*saga)->is_finished()) {
      verdict.problems.push_back(std::format("order {} has not ended", number));
      continue;
    }
    ended[(*saga)->id] = (*saga)->status;
  }
  for (const auto kind : orders::kParticipantKinds) {
    auto effects = effects_of(folder / std::format("{}.sqlite", name(kind)));
    verdict.effects += effects.size();
    for (const auto& [saga, status] : ended) {
      const auto found = effects.contains(saga) ? effects.extract(saga).mapped() : "";
      const bool is_right = status == saga::SagaStatus::kCompleted ? found == "do " : found.empty() || found == "do undo ";
      if (!is_right) {
        verdict.problems.push_back(std::format("{} ended {}, and {} has [{}]", saga, saga::name(status), name(kind), found));
      }
    }
    for (const auto& [saga, found] : effects) {
      verdict.problems.push_back(std::format("{} has [{}] of {}, which nobody knows", name(kind), found, saga));
    }
  }
}

Verdict run_through_cuts(Promises promises, int cuts) {
  const auto seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 dice(seed);
  const TemporaryFolder folder;
  PowerCut disk;
  Clients clients;
  Verdict verdict;
  for (int cut = 0; cut < cuts; ++cut) {
    disk.cut_after(1 + dice() % kOperationsToCut);
    if (auto stack = Stack::open(folder.path(), disk, promises); stack) {
      if (!clients.send_until_cut(*(*stack)->engine, disk)) {
        verdict.problems.emplace_back("the power was never cut: nothing is written any more");
        return verdict;
      }
    } else if (!disk.is_cut()) {
      verdict.problems.push_back(std::format("after {} cuts it does not open: {}", cut, stack.error().to_string()));
      return verdict;
    }
    verdict.lost_bytes += disk.restart(dice);
  }
  verdict.acknowledged = clients.acknowledged().size();
  auto stack = Stack::open(folder.path(), disk, promises);
  if (!stack) {
    verdict.problems.push_back(std::format("after the last cut it does not open: {}", stack.error().to_string()));
    return verdict;
  }
  judge(folder.path(), *(*stack)->engine, clients, verdict);
  return verdict;
}

TEST(PowerLoss, LosesNothingAcknowledgedAndDoesNothingTwice) {
  const auto verdict = run_through_cuts({}, kCuts);
  EXPECT_THAT(verdict.problems, ::testing::IsEmpty());
  EXPECT_GT(verdict.lost_bytes, 0U) << "the disk has lost nothing: no power was cut in the middle of something";
  EXPECT_GT(verdict.acknowledged, 0U);
  EXPECT_GT(verdict.effects, 0U);
  std::cout << std::format("{} cuts, {} orders acknowledged, {} effects, {} bytes lost\n", kCuts, verdict.acknowledged, verdict.effects,
                           verdict.lost_bytes);
}

// The controls: the test above can see what it is there to see.
void expect_noticed(const Verdict& verdict) {
  ASSERT_FALSE(verdict.problems.empty());
  std::cout << std::format("{} problems seen, the first: {}\n", verdict.problems.size(), verdict.problems.front());
}

TEST(PowerLoss, IsNoticedWhenTheJournalDoesNotSynchronise) { expect_noticed(run_through_cuts({.journal = false}, kCutsOfControl)); }

TEST(PowerLoss, IsNoticedWhenParticipantsDoNotSynchronise) { expect_noticed(run_through_cuts({.participants = false}, kCutsOfControl)); }

}  // namespace
}  // namespace outrigger
