// `weft validate` and `weft calibrate` take the same input: measured logs, and a cluster to predict them on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/planning/measurements/measurement_set.h"
#include "sim/planning/predict.h"

namespace weft::apps {

struct MeasuredLogs {
  std::vector<std::string> files;
  std::string cluster;
  std::optional<int> threads;  // of a process; absent: as each log says
  std::optional<int> gpus;     // of a thread
};
void add_measured_logs(CLI::App& command, MeasuredLogs& logs);

[[nodiscard]] plan::MeasurementSet read_logs(const MeasuredLogs& logs, const CommonOptions& common);
// The cluster under `overrides`, with the warnings about it and about `set` told. ConfigError also where NCCL has no such
// variable, or cannot take the value, that the cluster or --nccl sets.
[[nodiscard]] net::Cluster load_cluster(const MeasuredLogs& logs, const plan::MeasurementSet& set, const CommonOptions& common,
                                        const plan::Overrides& overrides, Diagnostics& diagnostics);
[[nodiscard]] plan::PredictOptions predict_options(const plan::Overrides& overrides);

}  // namespace weft::apps
