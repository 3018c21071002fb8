#include "sim/workloads/trace/nsys/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <system_error>

#include "sim/core/error.h"
#include "sim/core/used_files.h"

namespace weft::work::nsys {
namespace {

constexpr int kLongestValue = 16 << 20;  // of a text, a blob or a row
// A row takes some tens of SQLite's instructions and at least two bytes. Pages that contain each other over and over take more.
constexpr int kInstructionsAtOnce = 1'000;
constexpr std::uint64_t kInstructionsPerByte = 100;
constexpr std::uint64_t kInstructionsAtLeast = 1'000'000;

int count_instructions(void* left) {
  auto& pieces = *static_cast<std::uint64_t*>(left);
  if (pieces == 0) return 1;
  --pieces;
  return 0;
}

std::vector<std::string> columns_of(const Database& database, std::string_view table) {
  sqlite3_stmt* statement = nullptr;
  std::vector<std::string> names;
  if (sqlite3_prepare_v2(database.handle(), "SELECT name FROM pragma_table_info(?)", -1, &statement, nullptr) == SQLITE_OK) {
    sqlite3_bind_text(statement, 1, table.data(), static_cast<int>(table.size()), SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const unsigned char* name = sqlite3_column_text(statement, 0);
      if (name != nullptr) names.emplace_back(reinterpret_cast<const char*>(name));
    }
  }
  sqlite3_finalize(statement);
  return names;
}

std::string_view type_name(int type) {
  switch (type) {
    case SQLITE_FLOAT:
      return "a fraction";
    case SQLITE_TEXT:
      return "text";
    case SQLITE_BLOB:
      return "binary data";
    default:
      return "empty";
  }
}

}  // namespace

Database::Database(const std::filesystem::path& file, std::uint64_t max_bytes) : file_{file} {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) fail(fmt::format("cannot be read: {}", error.message()));
  if (size > max_bytes) fail(fmt::format("more than {} bytes, which is the limit", max_bytes));
  note_input(file);
  const int status = sqlite3_open_v2(file.c_str(), &handle_, SQLITE_OPEN_READONLY, nullptr);
  try {
    if (status != SQLITE_OK) fail(fmt::format("cannot be read: {}", sqlite3_errstr(status)));
    sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLongestValue);
    pieces_left_ = (kInstructionsAtLeast + kInstructionsPerByte * size) / kInstructionsAtOnce;
    sqlite3_progress_handler(handle_, kInstructionsAtOnce, count_instructions, &pieces_left_);
    if (sqlite3_exec(handle_, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; SELECT name FROM sqlite_master LIMIT 1",
                     nullptr, nullptr, nullptr) != SQLITE_OK) {
      fail(fmt::format("no readable SQLite database: {}", sqlite3_errmsg(handle_)));
    }
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::fail(std::string message, std::string note) const {
  throw ConfigError(std::vector{Diagnostic{
      .where = {.file = file_.string()}, .message = std::move(message), .source_line = {}, .note = std::move(note)}});
}

bool Database::has_table(std::string_view table) const {
  sqlite3_stmt* statement = nullptr;
  bool found = false;
  if (sqlite3_prepare_v2(handle_,
                         "SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'", -1,
                         &statement, nullptr) == SQLITE_OK) {
    sqlite3_bind_text(statement, 1, table.data(), static_cast<int>(table.size()), SQLITE_STATIC);
    found = sqlite3_step(statement) == SQLITE_ROW;
  }
  sqlite3_finalize(statement);
  return found;
}

Rows::Rows(const Database& database, std::string_view table, std::vector<std::string> columns,
           const std::vector<std::string>& optional)
    : database_{database}, table_{table}, columns_{std::move(columns)} {
  if (!database.has_table(table)) {
    database.fail(fmt::format("no table {}", table), "export with 'nsys export --type sqlite' what --trace=cuda,nvtx recorded");
  }
  const std::vector<std::string> there = columns_of(database, table);
  const auto has = [&](const std::string& column) { return std::ranges::find(there, column) != there.end(); };
  std::string selected;
  for (const std::string& column : columns_) {
    if (!has(column)) database.fail(fmt::format("table {} has no column '{}'", table, column));
    selected += fmt::format("{}\"{}\"", selected.empty() ? "" : ", ", column);
  }
  for (const std::string& column : optional) {
    selected += has(column) ? fmt::format(", \"{}\"", column) : std::string{", NULL"};
    columns_.push_back(column);
  }
  const std::string sql = fmt::format("SELECT {} FROM \"{}\"", selected, table);
  if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
    database.fail(fmt::format("table {}: {}", table, sqlite3_errmsg(database.handle())));
  }
}

Rows::~Rows() { sqlite3_finalize(statement_); }

bool Rows::next() {
  ++row_;
  const int status = sqlite3_step(statement_);
  if (status == SQLITE_ROW) return true;
  if (status != SQLITE_DONE) fail(sqlite3_errmsg(database_.handle()));
  return false;
}

void Rows::fail(std::string_view message) const { database_.fail(fmt::format("table {}, row {}: {}", table_, row_, message)); }

std::int64_t Rows::checked(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  if (type != SQLITE_INTEGER) {
    fail(fmt::format("{} is {}, not a whole number", columns_[static_cast<std::size_t>(column)], type_name(type)));
  }
  return sqlite3_column_int64(statement_, column);
}

std::int64_t Rows::integer(int column) const { return checked(column); }

std::int64_t Rows::integer(int column, std::int64_t otherwise) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL ? otherwise : checked(column);
}

std::string_view Rows::text(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  if (type == SQLITE_NULL) return {};
  if (type != SQLITE_TEXT) {
    fail(fmt::format("{} is {}, not text", columns_[static_cast<std::size_t>(column)],
                     type == SQLITE_INTEGER ? "a number" : type_name(type)));
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace weft::work::nsys
