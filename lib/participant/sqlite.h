#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "lib/runtime/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace outrigger::participant {

class StatementCache;

/// A prepared statement. Reusable: step() to the end or reset(), then bind anew. One thread at a time; not after its database.
class Statement final {
 public:
  /// Parameters and columns count from 1 and 0, as in SQLite. Text is copied.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, std::string_view value);

  /// True: a row is there. False: done; the statement is reset. Errors: see Database.
  [[nodiscard]] Result<bool> step();
  /// For statements without rows.
  [[nodiscard]] Result<void> run();
  void reset();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Database;
  struct GiveBack {
    void operator()(sqlite3_stmt* statement) const;
    StatementCache* cache;
  };
  Statement(sqlite3_stmt* statement, StatementCache* cache) : statement_(statement, GiveBack{cache}) {}
  std::unique_ptr<sqlite3_stmt, GiveBack> statement_;
};

/// What a test of power loss changes; the defaults are the promise.
struct DatabaseSettings {
  std::string vfs{};        ///< of SQLite's registered ones; empty: its default
  bool synchronous = true;  ///< false: what is committed may be lost with the power
};

/// A participant's own SQLite database: write-ahead log, synchronous=FULL, foreign keys on. One thread at a time; other
/// processes may read. What is committed survives a crash of the process and of the machine.
///
/// Errors: kUnavailable (disk full, I/O error, locked: try again), kDataLoss (damaged file), kFailedPrecondition (a constraint
/// of the schema), kInternal (wrong SQL). `context` is the file.
class Database final {
 public:
  /// Opens or creates the file; its folder must exist.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& file, const DatabaseSettings& settings = {});

  /// One or more statements without results.
  [[nodiscard]] Result<void> execute(const std::string& sql);
  /// Compiles the SQL once: a destroyed statement is kept, and the next prepare() of the same SQL takes it. So a handler may prepare
  /// what it needs for each command. Values belong into parameters, or each value is compiled and kept (up to 64).
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);

  /// False after an error that made SQLite roll the whole transaction back by itself.
  [[nodiscard]] bool is_in_transaction() const;

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  explicit Database(sqlite3* connection);
  std::unique_ptr<sqlite3, Close> connection_;
  std::unique_ptr<StatementCache, void (*)(StatementCache*)> cache_;  ///< before the connection is closed, its statements are finalized
};

}  // namespace outrigger::participant
