// `weft validate` and `weft calibrate` take the same input: measured logs, and a cluster to predict them on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/measured/predict.h"
#include "sim/measured/readers/measurement_set.h"

namespace weft::apps {

struct MeasuredLogs {
  std::vector<std::string> files;
  std::string cluster;
  std::optional<int> threads;  // of a process; absent: as each log says
  std::optional<int> gpus;     // of a thread
};
void add_measured_logs(CLI::App& command, MeasuredLogs& logs);

[[nodiscard]] measured::MeasurementSet read_logs(const MeasuredLogs& logs, const CommonOptions& common);
// The cluster under `overrides`, with the warnings about it and about `set` told. ConfigError also where NCCL has no such
// variable, or cannot take the value, that the cluster or --nccl sets.
[[nodiscard]] net::Cluster load_cluster(const MeasuredLogs& logs, const measured::MeasurementSet& set,
                                        const CommonOptions& common, const scenario::Overrides& overrides,
                                        Diagnostics& diagnostics);
[[nodiscard]] measured::PredictOptions predict_options(const scenario::Overrides& overrides);

}  // namespace weft::apps
