#include "lib/participant/inbox.h"

#include <array>
#include <format>

#include "lib/participant/metrics.h"
#include "lib/runtime/crash_point.h"
#include "lib/telemetry/log.h"

namespace outrigger::participant {
namespace {

constexpr const char* kSchema = R"sql(
  CREATE TABLE IF NOT EXISTS inbox (
    key TEXT PRIMARY KEY,       -- saga/step/direction
    type TEXT NOT NULL,
    outcome TEXT NOT NULL,      -- REFUSED: the undo came first
    output TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL         -- milliseconds since 1970, UTC
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS inbox_by_age ON inbox (at);
)sql";

enum class Did : std::uint8_t { kExecuted, kFailed, kRepeated, kNothingToUndo, kTombstone, kRefused, kRetry };
constexpr std::array<std::string_view, 7> kDidNames{"executed", "failed", "repeated", "nothing_to_undo", "tombstone", "refused", "retry"};

struct Answer {
  Reply reply;
  Did did = Did::kExecuted;
};

// These leave nothing to work with: the whole batch is taken back.
bool ends_batch(const Error& error) { return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDataLoss; }

std::string do_key(const Command& command) {
  auto twin = command;
  twin.direction = Direction::kDo;
  return twin.idempotency_key();
}

}  // namespace

Decision Decision::success(std::string output) { return {.output = std::move(output), .reason = {}, .retry_after = std::nullopt}; }
Decision Decision::failed(std::string reason) {
  return {.outcome = Outcome::kFailed, .output = {}, .reason = std::move(reason), .retry_after = std::nullopt};
}
Decision Decision::retry(std::string reason, std::chrono::milliseconds after) {
  return {.outcome = Outcome::kRetry, .output = {}, .reason = std::move(reason), .retry_after = after};
}

struct Inbox::State {
  Database& database;
  InboxSettings settings;
  WallClock clock;
  Statement find;
  Statement insert;
  Statement expire;
  std::array<telemetry::Counter*, kDidNames.size()> counters{};
  telemetry::Histogram& seconds;
  telemetry::Counter& rolled_back;
  telemetry::Counter& expired;

  // Without results, and compiled once.
  Result<void> run(std::string_view sql) {
    return database.prepare(sql).and_then([](Statement statement) { return statement.run(); });
  }

  Result<std::optional<Reply>> stored(const Command& command, const std::string& key) {
    auto row = find.bind(1, key).step();
    if (!row) {
      return std::unexpected(row.error());
    }
    if (!*row) {
      return std::nullopt;
    }
    const auto outcome = parse_outcome(find.text(0));
    auto reply = reply_to(command, outcome.value_or(Outcome::kSuccess), find.text(1), find.text(2));
    find.reset();
    if (!outcome) {
      return fail(ErrorCode::kDataLoss, std::format("the inbox row {} holds {}", key, outcome.error().message));
    }
    return reply;
  }

  Result<void> store(const std::string& key, const Command& command, const Reply& reply) {
    return insert.bind(1, key)
        .bind(2, command.type)
        .bind(3, name(reply.outcome))
        .bind(4, reply.output)
        .bind(5, reply.reason)
        .bind(6, clock().time_since_epoch().count())
        .run();
  }

  Result<Answer> execute(const Command& command, const std::string& key, const Handler& handler) {
    const bool is_do = command.direction == Direction::kDo;
    crash_point(is_do ? CrashPoint::kEffectBefore : CrashPoint::kUndoBefore);
    auto decision = handler(database, command);
    if (!decision) {
      return std::unexpected(decision.error());
    }
    crash_point(is_do ? CrashPoint::kEffectAfter : CrashPoint::kUndoAfter);
    auto reply = reply_to(command, decision->outcome, std::move(decision->output), std::move(decision->reason));
    reply.retry_after = decision->retry_after;
    if (reply.outcome != Outcome::kSuccess) {
      if (const auto undone = run("ROLLBACK TO command"); !undone) {
        return std::unexpected(undone.error());
      }
    }
    const bool is_final = reply.outcome == Outcome::kSuccess || (reply.outcome == Outcome::kFailed && is_do);
    if (!is_final) {
      const auto did = reply.outcome == Outcome::kFailed ? Did::kFailed : Did::kRetry;
      return Answer{std::move(reply), did};
    }
    if (const auto kept = store(key, command, reply); !kept) {
      return std::unexpected(kept.error());
    }
    return Answer{reply, reply.outcome == Outcome::kSuccess ? Did::kExecuted : Did::kFailed};
  }

  // Inside the command's savepoint.
  Result<Answer> handle(const Command& command, const Handler& handler) {
    const auto key = command.idempotency_key();
    auto known = stored(command, key);
    if (!known) {
      return std::unexpected(known.error());
    }
    if (*known) {
      return Answer{**known, (*known)->outcome == Outcome::kRefused ? Did::kRefused : Did::kRepeated};
    }
    if (command.direction == Direction::kDo) {
      return execute(command, key, handler);
    }
    const auto done = stored(command, do_key(command));
    if (!done) {
      return std::unexpected(done.error());
    }
    if (*done && (*done)->outcome == Outcome::kSuccess) {
      return execute(command, key, handler);
    }
    auto reply = reply_to(command, Outcome::kSuccess);
    if (!*done) {
      const auto tombstone = reply_to(command, Outcome::kRefused, {}, "the undo of this step came first: the do has no effect");
      if (const auto kept = store(do_key(command), command, tombstone); !kept) {
        return std::unexpected(kept.error());
      }
    }
    if (const auto kept = store(key, command, reply); !kept) {
      return std::unexpected(kept.error());
    }
    return Answer{std::move(reply), *done ? Did::kNothingToUndo : Did::kTombstone};
  }

  Result<Answer> in_savepoint(const Command& command, const Handler& handler) {
    if (const auto begun = run("SAVEPOINT command"); !begun) {
      return std::unexpected(begun.error());
    }
    auto answer = handle(command, handler);
    if (!answer && (ends_batch(answer.error()) || !database.is_in_transaction())) {
      return fail(ErrorCode::kUnavailable, answer.error().message, answer.error().context);
    }
    if (!answer) {
      telemetry::log(telemetry::LogLevel::kError, "a participant's handler failed",
                     {{"participant", settings.participant}, {"key", command.idempotency_key()}, {"error", answer.error().to_string()}});
      auto reply = reply_to(command, Outcome::kRetry, {}, answer.error().message);
      reply.retry_after = settings.retry_after;
      if (const auto undone = run("ROLLBACK TO command"); !undone) {
        return std::unexpected(undone.error());
      }
      answer = Answer{std::move(reply), Did::kRetry};
    }
    if (const auto released = run("RELEASE command"); !released) {
      return std::unexpected(released.error());
    }
    return answer;
  }

  Result<std::vector<Answer>> in_transaction(std::span<const Command> commands, const Handler& handler) {
    if (const auto begun = run("BEGIN IMMEDIATE"); !begun) {
      return std::unexpected(begun.error());
    }
    std::vector<Answer> answers;
    for (const auto& command : commands) {
      auto answer = in_savepoint(command, handler);
      if (!answer) {
        return std::unexpected(answer.error());
      }
      answers.push_back(*std::move(answer));
    }
    const auto oldest = clock() - settings.retention;
    std::uint64_t removed = 0;
    expire.bind(1, oldest.time_since_epoch().count()).bind(2, static_cast<std::int64_t>(settings.expire_at_most));
    for (auto row = expire.step(); !row || *row; row = expire.step()) {
      if (!row) {
        return std::unexpected(row.error());
      }
      ++removed;
    }
    crash_point(CrashPoint::kInboxCommitBefore);
    if (const auto committed = run("COMMIT"); !committed) {
      return std::unexpected(committed.error());
    }
    crash_point(CrashPoint::kInboxCommitAfter);
    expired.add(removed);
    return answers;
  }
};

Inbox::Inbox(std::unique_ptr<State> state) : state_(std::move(state)) {}
Inbox::~Inbox() = default;
Inbox::Inbox(Inbox&&) noexcept = default;
Inbox& Inbox::operator=(Inbox&&) noexcept = default;

Result<Inbox> Inbox::open(Database& database, InboxSettings settings, WallClock clock, telemetry::Registry& registry) {
  if (const auto made = database.execute(kSchema); !made) {
    return std::unexpected(made.error());
  }
  auto find = database.prepare("SELECT outcome, output, reason FROM inbox WHERE key = ?");
  auto insert = database.prepare("INSERT INTO inbox (key, type, outcome, output, reason, at) VALUES (?, ?, ?, ?, ?, ?)");
  auto expire = database.prepare("DELETE FROM inbox WHERE key IN (SELECT key FROM inbox WHERE at < ? ORDER BY at LIMIT ?) RETURNING 1");
  for (const auto* statement : {&find, &insert, &expire}) {
    if (!*statement) {
      return std::unexpected(statement->error());
    }
  }
  const telemetry::Labels labels{{"participant", settings.participant}};
  auto state = std::make_unique<State>(State{.database = database,
                                             .settings = settings,
                                             .clock = std::move(clock),
                                             .find = *std::move(find),
                                             .insert = *std::move(insert),
                                             .expire = *std::move(expire),
                                             .seconds = registry.histogram(metrics::kInboxBatchSeconds, telemetry::kLatencySeconds, labels),
                                             .rolled_back = registry.counter(metrics::kInboxRolledBack, labels),
                                             .expired = registry.counter(metrics::kInboxExpired, labels)});
  for (std::size_t i = 0; i < kDidNames.size(); ++i) {
    state->counters.at(i) =
        &registry.counter(metrics::kInboxCommands, {{"participant", settings.participant}, {"result", std::string(kDidNames.at(i))}});
  }
  return Inbox(std::move(state));
}

std::vector<Reply> Inbox::process(std::span<const Command> commands, const Handler& handler) {
  auto& state = *state_;
  const auto started = std::chrono::steady_clock::now();
  auto answers = state.in_transaction(commands, handler);
  if (!answers) {
    // The commit's outcome may be unknown; the next attempt reads what is stored.
    if (state.database.is_in_transaction()) {
      (void)state.database.execute("ROLLBACK");
    }
    state.rolled_back.add();
    telemetry::log(telemetry::LogLevel::kError, "a participant's database is unavailable",
                   {{"participant", state.settings.participant}, {"error", answers.error().to_string()}});
    const auto reason = std::format("the participant's database is unavailable: {}", answers.error().message);
    answers.emplace();
    for (const auto& command : commands) {
      auto reply = reply_to(command, Outcome::kRetry, {}, reason);
      reply.retry_after = state.settings.retry_after;
      answers->push_back({std::move(reply), Did::kRetry});
    }
  }
  std::vector<Reply> replies;
  replies.reserve(answers->size());
  for (auto& answer : *answers) {
    state.counters.at(static_cast<std::size_t>(answer.did))->add();
    replies.push_back(std::move(answer.reply));
  }
  state.seconds.observe(std::chrono::steady_clock::now() - started);
  return replies;
}

}  // namespace outrigger::participant
