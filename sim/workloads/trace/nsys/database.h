// A SQLite file that somebody else wrote, read row by row and with every value checked. Not for writing.
//
//   Rows rows{database, "CUPTI_ACTIVITY_KIND_KERNEL", {"start", "end"}, {"gridX"}};
//   while (rows.next()) use(rows.integer(0), rows.integer(2, 0));
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace weft::work::nsys {

class Database {
 public:
  // ConfigError: no such file, no SQLite database, larger than max_bytes.
  Database(const std::filesystem::path& file, std::uint64_t max_bytes);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // A table of its own: views and virtual tables would run what the file says.
  [[nodiscard]] bool has_table(std::string_view table) const;
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[noreturn]] void fail(std::string message, std::string note = {}) const;

 private:
  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
  std::uint64_t pieces_left_ = 0;  // of work that a file of its size can be
};

// The rows of a table in the order of its rowids; a column of `optional` that the table lacks reads as absent.
class Rows {
 public:
  // ConfigError: the table is missing, or one of the columns it must have.
  Rows(const Database& database, std::string_view table, std::vector<std::string> columns,
       const std::vector<std::string>& optional = {});
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  [[nodiscard]] bool next();  // ConfigError: a damaged page
  // Columns are counted through `columns`, then `optional`. ConfigError, with the row: another type, no value.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::int64_t integer(int column, std::int64_t otherwise) const;
  [[nodiscard]] std::string_view text(int column) const;  // empty where there is none; until next()
  [[noreturn]] void fail(std::string_view message) const;

 private:
  [[nodiscard]] std::int64_t checked(int column) const;

  const Database& database_;
  std::string table_;
  std::vector<std::string> columns_;
  std::uint64_t row_ = 0;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace weft::work::nsys
