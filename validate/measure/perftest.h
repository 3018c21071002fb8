// Reads what the perftest programs (ib_write_bw, ib_write_lat, ib_read_*, ib_send_*) print, for points of kind `nic`.
//
// Bandwidth columns are `#bytes #iterations BW peak[u] BW average[u] MsgRate[Mpps]` with u MB/sec (2^20 bytes), MiB/sec or
// Gb/sec; latency columns `#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% percentile
// 99.9% percentile`. Not all rows have all columns, so they are told by their titles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::measure {

struct PerftestRow {
  std::int64_t bytes = 0;
  std::int64_t iterations = 0;
  std::optional<double> GBps = {};  // average
  std::optional<double> peak_GBps = {};
  std::optional<double> min_us = {};
  std::optional<double> max_us = {};
  std::optional<double> median_us = {};  // t_typical is the median
  std::optional<double> mean_us = {};
  std::optional<double> p99_us = {};
};

struct PerftestLog {
  std::string tool;    // from the title line: "ib_write_bw"; empty if it is not there
  std::string device;  // "mlx5_0"
  bool gpu_direct = false;
  std::vector<PerftestRow> rows = {};
};

// Lines that are no table are passed over; a table whose titles are unknown gives no rows.
[[nodiscard]] PerftestLog read_perftest(std::string_view text);

}  // namespace weft::measure
