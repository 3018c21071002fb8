// Predicts what was measured: rows of nccl-tests' logs, records of measurement files, rows of kernel logs. What each kind of
// point is predicted by is in kinds/ (point_kind.h).
//
//   const Predictions predictions = predict(cluster, measurement, {});
//   ValidationReport report{predictions.points};
//
// Not here: which points count and how errors are summed up (validation_report.h), fitting (fit/calibrate.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/collectives/executor.h"
#include "sim/measured/readers/kernel_log.h"
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
// cluster has too few devices. Deterministic, as all of these.
[[nodiscard]] Predictions predict(const net::Cluster& cluster, const Measurement& measurement, const PredictOptions& options);

// Every record gives at least one point, of overlap one for each stream. A point that no model covers has no prediction and
// says why.
[[nodiscard]] Predictions predict_points(const net::Cluster& cluster, const PointLog& log, const PredictOptions& options);

// Every row as a point, predicted with the profile: alone as gemm, attention, memory or optimizer.
[[nodiscard]] std::vector<ValidationPoint> predict_kernels(const Profile& profile, const KernelLog& log);

// The NCCL that ran, "2.28.9"; empty where the log does not say, or where it is older than what is modelled.
[[nodiscard]] std::string release_of(const NcclTestsLog& log);

// As Profile names logs: sixteen hexadecimal digits.
[[nodiscard]] std::string digest_of(const NcclTestsLog& log);

}  // namespace weft::measured
