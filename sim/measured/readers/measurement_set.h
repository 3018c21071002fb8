// The logs that a validation or a calibration reads, each with the NCCL settings it was taken under.
//
// A path is a log, or a `measurements.yaml` in place of logs, a list whose file patterns are relative to it:
//
//   - {file: "*.txt", nccl: {NVLS_ENABLE: 0}}
//   - {file: old/ring_*.txt, nccl: {ALGO: Ring, PROTO: LL128}, collective: all_gather}   # of a log that does not name its own
//
// A file that several entries match is read once; of settings given twice the later entry's holds. The command line's --nccl
// wins over the list, and the list over what the log itself says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/error.h"
#include "sim/measured/readers/nccl_tests_log.h"
#include "sim/measured/readers/point_log.h"

namespace weft::measured {

using NcclSettings = std::map<std::string, std::string>;  // "NCCL_ALGO" -> "Ring"

struct Measurement {
  std::string file;  // as messages and reports call it
  NcclTestsLog log;  // its collective is known
  NcclSettings settings;
  std::string record_set = {};  // "quick", "full", where the file says what its points belong to
};

struct MeasurementSet {
  std::vector<Measurement> measurements;  // in the order given; the matches of a pattern in byte order
  std::vector<PointLog> points;           // what files hold besides collectives: kernels, copies, overlap
  std::vector<Diagnostic> warnings;
};

// Reads the keys of a list, and opens no log: for what asks which keys there are.
void read_measurement_keys(const ConfigNode& list, Diagnostics& diagnostics);

// Throws one ConfigError with the errors of all files.
MeasurementSet read_measurements(const std::vector<std::string>& paths, const NcclSettings& overrides = {});

// How the ranks of logs of nccl-tests were spread, in place of what the logs say: threads of a process, GPUs of a thread.
// ConfigError where the ranks of a log are no multiple of both.
void set_layout(MeasurementSet& set, std::optional<int> threads, std::optional<int> gpus_per_thread);

// "ALGO=Ring" and "NCCL_ALGO=Ring" alike. `origin` is what errors begin with.
NcclSettings parse_nccl_settings(const std::vector<std::string>& assignments, std::string_view origin = "--nccl");

}  // namespace weft::measured
