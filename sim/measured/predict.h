// Predicts every row of a measured log, by one simulated call per row. It takes the log's ranks on the cluster's devices, its
// collective, sizes, types, roots, NCCL settings and launch mode.
//
//   const Predictions predictions = predict(cluster, measurement, {});
//   ValidationReport report{predictions.points};
//
// Not here: which points count and how errors are summed up (validation_report.h), fitting (calibrate.h).
//
// Model: in-place calls take as long as out-of-place ones; aggregated calls cost what plain calls cost; several communicators
// side by side are one by itself. Where a log is of that kind, a note says so. Where a file says what each call took its host
// (`weft measure` does), that is the host's cost of a launch; rows where the host was all that the loop waited for are marked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/collectives/executor.h"
#include "sim/core/ids.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/measured/validation_report.h"
#include "sim/network/cluster.h"
#include "sim/scenario/run_scenario.h"

namespace weft::measured {

struct PredictOptions {
  coll::Grain grain = coll::Grain::kAuto;
  std::uint64_t seed = 1;
  std::uint64_t shuffle_ties = 0;
  scenario::RunObserver* observer = nullptr;
  std::uint64_t rows_before = 0;  // of earlier logs, and of all: what the observer is told
  std::uint64_t rows_total = 0;   // 0: the rows of this log
};

struct Predictions {
  std::vector<ValidationPoint> points;  // of each row in order: out of place, in place, where they were measured
  std::vector<std::string> notes;       // what is not modelled, each once
  std::uint64_t digest = 0;
  std::uint64_t events = 0;
  std::uint64_t transfers = 0;
  bool interrupted = false;  // by the user: points end where it was
};

// A row that is not modelled gives a point without a prediction, and a note. ConfigError, with the log's name, where the
// cluster has too few devices.
[[nodiscard]] Predictions predict(const net::Cluster& cluster, const Measurement& measurement, const PredictOptions& options);

// Which device held each rank: by host in order of appearance, and on it by bus id where the cluster's devices carry the ids
// that the log prints ("0000:00:06" is "0000:00:06.0"); otherwise the first of the host, or of the cluster. Rank r is element
// r.
[[nodiscard]] std::vector<DeviceId> devices_of(const net::Cluster& cluster, const Measurement& measurement);

// The NCCL that ran, "2.28.9"; empty where the log does not say, or where it is older than what is modelled.
[[nodiscard]] std::string release_of(const NcclTestsLog& log);

// As Profile names logs: sixteen hexadecimal digits.
[[nodiscard]] std::string digest_of(const NcclTestsLog& log);

}  // namespace weft::measured
