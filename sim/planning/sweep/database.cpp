#include "sim/planning/sweep/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/file_lock.h"
#include "sim/core/result_header.h"
#include "sim/core/used_files.h"
#include "sim/core/version.h"

namespace weft::plan {
namespace {

// Counts changes of the tables.
constexpr std::string_view kSchema = "2";
constexpr int kBusyMilliseconds = 10'000;

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string{"\"\""} : std::string{c};
  return text + '"';
}

std::string_view sql_type(ColumnType type) {
  return type == ColumnType::kInteger ? "INTEGER" : type == ColumnType::kReal ? "REAL" : "TEXT";
}

}  // namespace

// The handle of the library and its prepared statements, closed by themselves.
struct SweepDatabase::Connection {
  sqlite3* handle = nullptr;
  std::optional<FileLock> lock;
  std::string file;

  // The lock goes after it: closing any descriptor of a file drops the locks that SQLite has on it (fcntl(2)).
  ~Connection() { sqlite3_close(handle); }

  [[noreturn]] void fail(std::string_view doing) const {
    const int problem = handle == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle);
    if (problem == SQLITE_CORRUPT || problem == SQLITE_NOTADB) damaged(sqlite3_errmsg(handle));
    throw ConfigError(fmt::format("cannot {} the results in '{}': {}", doing, file,
                                  handle == nullptr ? "out of memory" : sqlite3_errmsg(handle)));
  }
  [[noreturn]] void damaged(std::string_view how) const {
    throw ConfigError({Diagnostic{.where = {},
                                  .message = fmt::format("'{}' is damaged or no database of a sweep: {}", file, how),
                                  .source_line = {},
                                  .length = 1,
                                  .note = "begin another with --db FILE, or take this one from a copy"}});
  }
  void run(const std::string& sql, std::string_view doing) const {
    if (sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(doing);
  }
};

namespace {

class Statement {
 public:
  Statement(sqlite3* handle, const std::string& sql) {
    ok_ = sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement_, nullptr) == SQLITE_OK;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool next() {
    status_ = sqlite3_step(statement_);
    return status_ == SQLITE_ROW;
  }
  // After the last row: that it was the last, and not one that cannot be read.
  [[nodiscard]] bool ended() const { return status_ == SQLITE_DONE; }
  [[nodiscard]] int columns() const { return sqlite3_column_count(statement_); }
  [[nodiscard]] bool done() {  // of what gives no rows
    const bool is_done = sqlite3_step(statement_) == SQLITE_DONE;
    sqlite3_reset(statement_);
    place_ = 1;
    return is_done;
  }

  void bind(const Cell& cell) {
    const int place = place_++;
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
      sqlite3_bind_int64(statement_, place, *whole);
    } else if (const auto* real = std::get_if<double>(&cell)) {
      sqlite3_bind_double(statement_, place, *real);
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      sqlite3_bind_text64(statement_, place, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
      sqlite3_bind_null(statement_, place);
    }
  }
  void bind_text(const std::string& text) { bind(text.empty() ? Cell{} : Cell{text}); }

  [[nodiscard]] std::int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? std::string{}
                            : std::string{bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  [[nodiscard]] Cell cell(int column) const {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_INTEGER:
        return whole(column);
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement_, column);
      case SQLITE_TEXT:
        return text(column);
      default:
        return {};
    }
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  bool ok_ = false;
  int status_ = SQLITE_OK;
  int place_ = 1;
};

// Undoes a transaction that did not come to its end.
struct Rollback {
  sqlite3* handle;
  ~Rollback() {
    if (handle != nullptr) sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
  }
};

std::vector<std::pair<std::string, std::string>> meta_of(const Sweep& sweep, const SweepPlan& plan) {
  return {{"schema", std::string{kSchema}},
          {"weft_version", std::string{version()}},
          {"weft_commit", std::string{commit()}},
          {"sweep", sweep.name()},
          {"sweep_digest", digest_text(plan.digest)},
          {"sweep_text", sweep.node().to_json()},
          {"points", std::to_string(plan.points.size())},
          {"configuration", plan.configuration}};
}

std::string unit_of(std::string_view name) {
  for (const std::string_view unit : {"ns", "us", "bytes", "gbps", "GBps"}) {
    if (name.ends_with(fmt::format("_{}", unit)) || name.ends_with(fmt::format(".{}", unit))) return std::string{unit};
  }
  return {};
}

}  // namespace

SweepDatabase::SweepDatabase(const std::filesystem::path& file, const Sweep& sweep, const SweepPlan& plan, Open how)
    : plan_{plan}, file_{file}, connection_{std::make_unique<Connection>()} {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(file, ignored);
  if (exists && how == Open::kNew) {
    throw ConfigError({Diagnostic{.where = {},
                                  .message = fmt::format("'{}' exists already", file.string()),
                                  .source_line = {},
                                  .length = 1,
                                  .note = "--resume completes it, --export reads it, and --db FILE names another"}});
  }
  if (!exists && how == Open::kExisting)
    throw ConfigError(fmt::format("there are no results in '{}' to go on from", file.string()));
  connection_->file = file.string();
  begin_output(file.string());  // read or written, it is no input of this sweep
  if (how == Open::kRead) {
    open_to_read();
  } else {
    open_to_write();
  }
  Statement tables{connection_->handle, "SELECT count(*) FROM sqlite_master"};
  if (!tables.ok() || !tables.next()) connection_->fail("read");
  if (tables.whole(0) == 0 && how != Open::kRead) {
    create(sweep);
  } else {
    check(sweep);
  }
}

void SweepDatabase::open_to_write() {
  // Another process would compute the same points and be told so at its first rows. The lock goes with its holder, however that
  // ends.
  connection_->lock.emplace(file_.string());
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(file_.c_str(), &connection_->handle, kFlags, nullptr) != SQLITE_OK) connection_->fail("write");
  sqlite3_busy_timeout(connection_->handle, kBusyMilliseconds);
  // A commit hands its rows to the operating system, which outlives this program; only a machine that stops may lose the last
  // ones, never the file.
  connection_->run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;", "write");
}

void SweepDatabase::open_to_read() {
  const auto is_readable = [&](const std::string& name, int flags) {
    sqlite3_close(std::exchange(connection_->handle, nullptr));
    if (sqlite3_open_v2(name.c_str(), &connection_->handle, SQLITE_OPEN_READONLY | flags, nullptr) != SQLITE_OK) return false;
    sqlite3_busy_timeout(connection_->handle, kBusyMilliseconds);
    Statement tables{connection_->handle, "SELECT count(*) FROM sqlite_master"};
    return tables.ok() && tables.next();
  };
  if (is_readable(file_.string(), 0)) return;
  const int problem = connection_->handle == nullptr ? SQLITE_NOMEM : sqlite3_errcode(connection_->handle);
  if (problem != SQLITE_CANTOPEN && problem != SQLITE_READONLY) connection_->fail("read");
  // A write-ahead log needs a file beside it even to be read. Where none can be made and no log is there, nobody writes either.
  std::error_code ignored;
  if (std::filesystem::file_size(file_.string() + "-wal", ignored) > 0 && !ignored) {
    throw ConfigError(
        {Diagnostic{.where = {},
                    .message = fmt::format("cannot read the results in '{}': rows wait in '{}-wal', and the folder "
                                           "cannot be written",
                                           file_.string(), file_.string()),
                    .source_line = {},
                    .length = 1,
                    .note = "copy both files to another folder"}});
  }
  std::string name = "file:";
  for (const char c : std::filesystem::absolute(file_).string()) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.';
    name += is_plain ? std::string{c} : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  if (!is_readable(name + "?immutable=1", SQLITE_OPEN_URI)) connection_->fail("read");
}

SweepDatabase::~SweepDatabase() = default;

void SweepDatabase::create(const Sweep& sweep) {
  // All of it or nothing: a program killed here leaves an empty file, which the next one fills.
  std::string sql =
      "BEGIN IMMEDIATE; CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT); "
      "CREATE TABLE columns(place INTEGER PRIMARY KEY, name TEXT, type TEXT, key_path TEXT, unit TEXT); "
      "CREATE TABLE points(id INTEGER PRIMARY KEY, status TEXT NOT NULL";
  for (const std::vector<SweepColumn>* columns : {&plan_.axes, &plan_.metrics}) {
    for (const SweepColumn& column : *columns) sql += fmt::format(", {} {}", quoted_name(column.name), sql_type(column.type));
  }
  connection_->run(sql + ", digest TEXT, error TEXT, configuration TEXT);", "write");
  Statement meta{connection_->handle, "INSERT INTO meta VALUES(?, ?)"};
  for (const auto& [key, value] : meta_of(sweep, plan_)) {
    meta.bind_text(key);
    meta.bind_text(value);
    if (!meta.ok() || !meta.done()) connection_->fail("write");
  }
  Statement place{connection_->handle, "INSERT INTO columns VALUES(NULL, ?, ?, ?, ?)"};
  for (const std::vector<SweepColumn>* columns : {&plan_.axes, &plan_.metrics}) {
    for (const SweepColumn& column : *columns) {
      place.bind_text(column.name);
      place.bind_text(std::string{sql_type(column.type)});
      place.bind_text(column.path);
      place.bind_text(unit_of(column.name));
      if (!place.ok() || !place.done()) connection_->fail("write");
    }
  }
  connection_->run("COMMIT", "write");
}

void SweepDatabase::check(const Sweep& sweep) {
  Statement meta{connection_->handle, "SELECT key, value FROM meta"};
  if (!meta.ok()) {
    if (sqlite3_errcode(connection_->handle) != SQLITE_ERROR) connection_->fail("read");
    throw ConfigError(fmt::format("'{}' holds no results of a sweep", file_.string()));
  }
  std::map<std::string, std::string> found;
  while (meta.next()) found[meta.text(0)] = meta.text(1);
  if (!meta.ended()) connection_->fail("read");
  const auto refuse = [&](const std::string& what, std::string note) {
    throw ConfigError({Diagnostic{.where = {},
                                  .message = fmt::format("'{}' {}", file_.string(), what),
                                  .source_line = {},
                                  .length = 1,
                                  .note = std::move(note)}});
  };
  if (found["schema"].empty()) connection_->damaged("it does not say what it holds");
  if (found["schema"] != kSchema) refuse(fmt::format("has schema {}, this program writes {}", found["schema"], kSchema), {});
  if (found["weft_version"] != version() || found["weft_commit"] != commit()) {
    refuse(fmt::format("was written by weft {} ({}), this is {} ({})", found["weft_version"], found["weft_commit"], version(),
                       commit()),
           "results of two versions are not mixed: go on with that one, or begin another with --db FILE");
  }
  if (found["sweep_digest"] != digest_text(plan_.digest)) {
    refuse(fmt::format("holds another sweep, '{}' of {} points; this one, '{}', has {}", found["sweep"], found["points"],
                       sweep.name(), plan_.points.size()),
           "the sweep, its scenario, a file these name or an option has changed; begin another with --db FILE");
  }
  Statement whole{connection_->handle, "PRAGMA quick_check(1)"};
  if (!whole.ok() || !whole.next()) connection_->fail("read");
  if (const std::string said = whole.text(0); said != "ok") connection_->damaged(said);
  Statement points{connection_->handle, "SELECT * FROM points LIMIT 0"};
  constexpr std::size_t kOthers = 5;  // id, status, digest, error, configuration
  if (!points.ok() || static_cast<std::size_t>(points.columns()) != plan_.axes.size() + plan_.metrics.size() + kOthers) {
    connection_->damaged("its table of points is missing or has other columns");
  }
}

std::vector<bool> SweepDatabase::finished() const {
  std::vector<bool> rows(plan_.points.size());
  Statement ids{connection_->handle, "SELECT id FROM points"};
  if (!ids.ok()) connection_->fail("read");
  while (ids.next()) {
    const auto id = static_cast<std::uint64_t>(ids.whole(0));
    if (id >= rows.size()) connection_->damaged(fmt::format("it has a row of point {}, of {}", ids.whole(0), rows.size()));
    rows[id] = true;
  }
  if (!ids.ended()) connection_->fail("read");
  return rows;
}

void SweepDatabase::add(const std::vector<PointRow>& rows) {
  if (rows.empty()) return;
  std::string places = "?, ?";
  for (std::size_t i = 0; i < plan_.axes.size() + plan_.metrics.size() + 3; ++i) places += ", ?";
  connection_->run("BEGIN IMMEDIATE", "write");
  Rollback rollback{connection_->handle};
  Statement insert{connection_->handle, fmt::format("INSERT INTO points VALUES({})", places)};
  for (const PointRow& row : rows) {
    insert.bind(Cell{static_cast<std::int64_t>(row.id)});
    insert.bind_text(std::string{row.status()});
    for (const Cell& cell : row.axes) insert.bind(cell);
    for (const Cell& cell : row.metrics) insert.bind(cell);
    insert.bind_text(row.digest);
    insert.bind_text(row.error);
    insert.bind_text(row.configuration);
    if (!insert.ok() || !insert.done()) connection_->fail("write");
  }
  connection_->run("COMMIT", "write");
  rollback.handle = nullptr;
}

void SweepDatabase::read(const std::function<void(const PointRow&)>& on_row) const {
  Statement rows{connection_->handle, "SELECT * FROM points ORDER BY id"};
  if (!rows.ok()) connection_->fail("read");
  PointRow row;
  while (rows.next()) {
    int column = 0;
    row.id = static_cast<std::uint64_t>(rows.whole(column++));
    ++column;  // the status follows from the others
    row.axes.clear();
    row.metrics.clear();
    for (std::size_t i = 0; i < plan_.axes.size(); ++i) row.axes.push_back(rows.cell(column++));
    for (std::size_t i = 0; i < plan_.metrics.size(); ++i) row.metrics.push_back(rows.cell(column++));
    row.digest = rows.text(column++);
    row.error = rows.text(column++);
    row.configuration = rows.text(column);
    on_row(row);
  }
  if (!rows.ended()) connection_->fail("read");
}

}  // namespace weft::plan
