// The results of a sweep in an SQLite file, one row a point, written in transactions: whatever kills the program, rows that
// were committed are there and no row is there twice or by half.
//
//   meta(key, value)      schema, version and commit of weft, digest and name of the sweep, its text, how many points it has,
//   and
//                         the resolved configuration of the first one
//   columns(name, type, key_path, unit)   what the columns of `points` hold: axes (with a key path), then metrics
//   points(id, status, <axes>, <metrics>, digest, error, configuration)
//
// `status` is 'done', 'refused' or 'cut_short'; a refused point has an `error` and no digest, and one with a flow or a job that
// was aborted or never ends has both. Nothing in the file depends on when, where or in which order points were run, so that two
// complete databases of one sweep have the same content.
//
// One process writes; readers may look at any time (write-ahead log).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/planning/sweep/point_run.h"

namespace weft::plan {

class SweepDatabase {
 public:
  // Whether the file may exist, and must; kRead: it must, and nothing is written, so that a read-only file will do.
  enum class Open { kNew, kExisting, kEither, kRead };

  // ConfigError where the file cannot be written, another process writes it, it is damaged, no database of ours, or holds
  // another sweep or another version's results.
  SweepDatabase(const std::filesystem::path& file, const Sweep& sweep, const SweepPlan& plan, Open how);
  ~SweepDatabase();
  SweepDatabase(const SweepDatabase&) = delete;
  SweepDatabase& operator=(const SweepDatabase&) = delete;

  // By id: the point has a row.
  [[nodiscard]] std::vector<bool> finished() const;
  // All rows in one transaction. ConfigError where the disk is full and the like.
  void add(const std::vector<PointRow>& rows);
  // Every row, by id.
  void read(const std::function<void(const PointRow&)>& on_row) const;

 private:
  struct Connection;

  void open_to_write();
  void open_to_read();
  void create(const Sweep& sweep);
  void check(const Sweep& sweep);

  const SweepPlan& plan_;
  std::filesystem::path file_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace weft::plan
