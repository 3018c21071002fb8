// How numbers and tables look on a terminal: nccl-tests' columns for collectives, aligned text for the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/runner.h"
#include "sim/core/units.h"

namespace weft::apps {

// nccl-tests' rule (models/nccl §8.4): two decimals if that fits the width, else one, else none, else 1.2e+09.
[[nodiscard]] std::string fit_number(double value, std::size_t width);

// For people: about three significant digits. "1.9 M", "43.6 ms", "1.5 GiB".
[[nodiscard]] std::string short_count(double count);
[[nodiscard]] std::string short_time(Duration duration);
[[nodiscard]] std::string short_bytes(double bytes);

[[nodiscard]] std::string percent(double share);            // "12.34 %"
[[nodiscard]] std::string milliseconds(Duration duration);  // "12.345"
// "# the host held up the GPU for 1.200 of 10.000 ms of the traced step (12.0 %)"
[[nodiscard]] std::string host_line(Duration held, Duration step);
[[nodiscard]] std::string size_text(std::int64_t bytes);  // of a call; "-" where nobody knows it

inline constexpr std::size_t kRanksShown = 16;  // rows of a table of ranks

// The table of nccl-tests with one half, the out-of-place one, and the choice behind it. Lines end in a newline.
[[nodiscard]] std::string sweep_columns();
[[nodiscard]] std::string sweep_row(const coll::CollectiveResult& point, std::string_view type);
// The same with what differs between the collectives of one scenario behind it: ranks, calls, collective.
[[nodiscard]] std::string mixed_columns();
[[nodiscard]] std::string mixed_row(const coll::CollectiveResult& point, std::string_view type, std::int64_t calls);

// Columns as wide as their widest cell. The first line begins with '#', so that rows are data to whoever reads them.
class Table {
 public:
  enum class Align { kLeft, kRight };

  void add_column(std::string title, Align align = Align::kRight);
  void add_row(std::vector<std::string> cells);  // one per column
  [[nodiscard]] std::string text() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::apps
