// One nccl-tests run as its log tells it: the collective, who took part, under which settings, and the time of every size.
//
// Reads the text that every version prints (models/nccl §8.4), also with NCCL_DEBUG lines mixed in anywhere and with the
// prefixes of mpirun and srun, and the JSON of `-J`. Nothing is read from the file's name. It does not decide which rows count:
// that is validation_report's business.
//
//   NcclTestsLog log = read_nccl_tests_log("all_reduce.txt");
//   for (const NcclTestsRow& row : log.rows) if (row.out_of_place) use(row.bytes, row.out_of_place->time_us);
//
// A file that is no such log, and rows that cannot be read, are ConfigErrors with every fault located; a log cut short is read
// up to its last whole row with a warning. Text is streamed: memory grows with the rows, not with the file.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::measured {

// One half of a row. Bandwidths are nccl-tests' own, in 1e9 bytes per second (models/nccl §8.2).
struct NcclTestsTiming {
  double time_us = 0;
  double algbw_gigabytes_per_second = 0;
  double busbw_gigabytes_per_second = 0;
  std::optional<double> wrong;  // elements that were wrong, or the old `error` column; empty where nothing was checked
};

struct NcclTestsRow {
  Bytes bytes;             // the size column: what all ranks hold together for all-gather and its like
  std::int64_t count = 0;  // elements, as passed to NCCL
  std::string type;        // "float", "half", ...
  std::string redop;       // "sum", ...; "none" where there is none
  int root = -1;           // -1: no root
  int iterations = 0;      // calls in the loop, where it differs from the log's; 0: as the log says
  double host_us = 0;      // what one call took the thread that issued it, in a loop of plain launches; 0: not known
  double slowdown = 1;     // full clock of the SMs over theirs then
  int communicator = 1;    // of several that were made one after the other, of the same settings
  std::optional<NcclTestsTiming> out_of_place;
  std::optional<NcclTestsTiming> in_place;
  int line = 0;  // where the row stands in the file
};

struct NcclTestsDevice {
  Rank rank = 0;
  int group = 0;  // of NCCL_TESTS_SPLIT; 0 without it
  std::string host;
  int device = 0;
  std::string bus_id;  // as printed: "0000:00:06", or "0x07" by older versions
  std::string name;
};

// One distinct line of NCCL's TUNING subsystem, in order of appearance.
struct NcclTestsChoice {
  std::string collective;  // nccl-tests' name; empty where NCCL did not print one (before 2.20)
  Bytes bytes;             // as nccl-tests' size column: NCCL prints the bytes of one rank for all-gather and reduce-scatter
  Bytes printed_bytes;     // as NCCL printed it
  std::string algorithm;   // "Ring", "Tree", "CollNetDirect", ...
  std::string protocol;    // "LL", "LL128", "Simple"
  int first_channel = 0;
  int last_channel = -1;  // below first_channel where NCCL did not print channels
  int line = 0;           // of the first such line

  [[nodiscard]] int channels() const { return last_channel - first_channel + 1; }
};

struct NcclTestsStep {
  std::int64_t value = 0;
  bool is_factor = false;  // otherwise bytes
};

struct NcclTestsLog {
  std::string file;

  std::string collective;  // all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv, gather, scatter,
                           // hypercube; empty if the log does not tell (versions before 2.18 print no name)
  int threads = 1;         // per process
  int gpus_per_thread = 1;
  int processes = 0;
  int ranks = 0;   // of one communicator
  int groups = 1;  // communicators measured side by side (NCCL_TESTS_SPLIT)
  int nodes = 0;   // distinct hosts of one communicator
  std::vector<NcclTestsDevice> devices;

  Bytes min_bytes;
  Bytes max_bytes;
  NcclTestsStep step;
  int iterations = 20;
  int warmup_iterations = 0;
  int aggregated_iterations = 1;
  int graph_launches = 0;  // 0: no CUDA graph
  // Every call of the loop has the same buffers; those of nccl-tests walk through `max_bytes`, so that they read memory and not
  // caches (startColl in its common.cu).
  bool same_buffers = false;

  std::string nccl_tests_version;  // empty: not printed
  std::string headers_version;     // as printed, e.g. "22809", or what NCCL itself says, e.g. "2.28.9+cuda13.0"
  std::string library_version;

  std::map<std::string, std::string> env;  // NCCL_X -> value, from `# env` lines and from NCCL's "set by environment" lines
  bool has_debug_output = false;           // taken under NCCL_DEBUG=INFO or TRACE: the printing disturbs the times
  bool is_cpu_time = false;                // -C: the times are those of the host's calls, not of the collective

  std::vector<NcclTestsRow> rows;
  std::vector<NcclTestsChoice> choices;
  std::vector<Diagnostic> warnings;

  // Hash of collective, ranks and rows: the same measurements under another name, or with other comments, have the same digest.
  [[nodiscard]] std::uint64_t digest() const;
};

NcclTestsLog read_nccl_tests_log(const std::string& path);
// The same from a stream; `file` is what messages call it.
NcclTestsLog read_nccl_tests_log(std::istream& input, const std::string& file);

}  // namespace weft::measured
