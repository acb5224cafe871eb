#include "lib/participant/sqlite.h"

#include <sqlite3.h>

#include <format>
#include <unordered_map>

namespace outrigger::participant {
namespace {

constexpr std::size_t kStatementsKept = 64;

// Another process's checkpoint or read may hold the file for a moment.
constexpr int kBusyMilliseconds = 5'000;

ErrorCode code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_INTERRUPT: return ErrorCode::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ErrorCode::kDataLoss;
    case SQLITE_CONSTRAINT: return ErrorCode::kFailedPrecondition;
    default: return ErrorCode::kInternal;
  }
}

std::unexpected<Error> failure(sqlite3* connection, int result) {
  const char* file = connection == nullptr ? nullptr : sqlite3_db_filename(connection, "main");
  const char* message = connection == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(connection);
  return fail(code_of(result), std::format("SQLite: {} ({})", message, result), file == nullptr ? "" : file);
}

}  // namespace

/// Statements that nobody holds, by their SQL.
class StatementCache final {
 public:
  StatementCache() = default;
  StatementCache(const StatementCache&) = delete;
  StatementCache& operator=(const StatementCache&) = delete;
  ~StatementCache() {
    for (const auto& [sql, statement] : idle_) {
      sqlite3_finalize(statement);
    }
  }

  /// Null: none is idle.
  [[nodiscard]] sqlite3_stmt* take(std::string_view sql) {
    const auto found = idle_.find(sql);
    if (found == idle_.end()) {
      return nullptr;
    }
    auto* const statement = found->second;
    idle_.erase(found);
    return statement;
  }

  void give_back(sqlite3_stmt* statement) {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    // sqlite3_sql() lives as long as the statement. A second one of the same SQL was held at the same time: one is enough.
    if (idle_.size() >= kStatementsKept || !idle_.try_emplace(sqlite3_sql(statement), statement).second) {
      sqlite3_finalize(statement);
    }
  }

 private:
  std::unordered_map<std::string_view, sqlite3_stmt*> idle_;
};

void Statement::GiveBack::operator()(sqlite3_stmt* statement) const { cache->give_back(statement); }

Statement& Statement::bind(int parameter, std::int64_t value) {
  if (sqlite3_bind_int64(statement_.get(), parameter, value) != SQLITE_OK) {
    impossible("SQLite parameter", sqlite3_sql(statement_.get()));
  }
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view value) {
  if (sqlite3_bind_text64(statement_.get(), parameter, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK) {
    impossible("SQLite parameter", sqlite3_sql(statement_.get()));
  }
  return *this;
}

Result<bool> Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) {
    return true;
  }
  if (result == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  auto problem = failure(sqlite3_db_handle(statement_.get()), result);
  sqlite3_reset(statement_.get());
  return problem;
}

Result<void> Statement::run() {
  const auto stepped = step();
  reset();
  if (!stepped) {
    return std::unexpected(stepped.error());
  }
  return {};
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes == nullptr ? std::string{} : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Database::Database(sqlite3* connection) : connection_(connection), cache_(new StatementCache, [](StatementCache* cache) { delete cache; }) {}

Result<Database> Database::open(const std::filesystem::path& file, const DatabaseSettings& settings) {
  sqlite3* connection = nullptr;
  const int result = sqlite3_open_v2(file.c_str(), &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                     settings.vfs.empty() ? nullptr : settings.vfs.c_str());
  Database database(connection);
  if (result != SQLITE_OK) {
    const auto problem = failure(connection, result);
    return fail(problem.error().code, problem.error().message, file.string());
  }
  sqlite3_busy_timeout(connection, kBusyMilliseconds);
  sqlite3_extended_result_codes(connection, 1);
  if (const auto set = database.execute(
          std::format("PRAGMA journal_mode=WAL; PRAGMA synchronous={}; PRAGMA foreign_keys=ON;", settings.synchronous ? "FULL" : "OFF"));
      !set) {
    return std::unexpected(set.error());
  }
  return database;
}

Result<void> Database::execute(const std::string& sql) {
  if (const int result = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr); result != SQLITE_OK) {
    return failure(connection_.get(), result);
  }
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  if (auto* const idle = cache_->take(sql)) {
    return Statement(idle, cache_.get());
  }
  sqlite3_stmt* statement = nullptr;
  if (const int result =
          sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
      result != SQLITE_OK) {
    return failure(connection_.get(), result);
  }
  return Statement(statement, cache_.get());
}

bool Database::is_in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

}  // namespace outrigger::participant
