#include "sim/apps/measured_logs.h"

#include <CLI/CLI.hpp>

#include "sim/measured/foreign_logs.h"

namespace weft::apps {

void add_measured_logs(CLI::App& command, MeasuredLogs& logs) {
  command
      .add_option("MEASUREMENTS", logs.files,
                  "What weft measure, nccl-tests, nvbandwidth or perftest wrote, or a measurements.yaml that lists such files")
      ->required()
      ->type_name("FILE");
  const auto number = [&](const char* name, std::optional<int>& value, const char* help) {
    command.add_option(name, value, help)->check(CLI::Range(1, 1024))->type_name("N");
  };
  number("-t,--nthreads", logs.threads, "Threads of a process, in place of what the logs of nccl-tests say");
  number("-g,--ngpus", logs.gpus, "GPUs of a thread, in place of what the logs of nccl-tests say");
  command.add_option("--cluster,-c", logs.cluster, "Cluster file")->required()->type_name("FILE");
}

measured::MeasurementSet read_logs(const MeasuredLogs& logs, const CommonOptions& common) {
  measured::MeasurementSet set = measured::read_measurements(logs.files, measured::parse_nccl_settings(common.nccl));
  measured::set_layout(set, logs.threads, logs.gpus);
  return set;
}

net::Cluster load_cluster(const MeasuredLogs& logs, const measured::MeasurementSet& set, const CommonOptions& common,
                          const scenario::Overrides& overrides, Diagnostics& diagnostics) {
  net::Cluster cluster = scenario::load_cluster(logs.cluster, overrides, diagnostics);
  for (const Diagnostic& warning : set.warnings) diagnostics.warning(warning);
  for (const Diagnostic& warning : measured::warn_of_foreign_logs(cluster, set)) diagnostics.warning(warning);
  print_warnings(diagnostics, common);
  static_cast<void>(scenario::nccl_settings(cluster, overrides));  // names and values are known ones
  return cluster;
}

measured::PredictOptions predict_options(const scenario::Overrides& overrides) {
  return {.grain = overrides.grain.value_or(coll::Grain::kAuto),
          .seed = overrides.seed.value_or(1),
          .shuffle_ties = overrides.shuffle_ties.value_or(0)};
}

}  // namespace weft::apps
