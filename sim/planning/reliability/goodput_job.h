// A job that fails, as one YAML file says: on what, how often what breaks, what checkpoints and restarts cost.
//
//   kind: goodput
//   cluster: ../clusters/dgx_h100_superpod.yaml       # or components: {gpu: 16384, node: 2048, ...}
//   overrides: {nodes: 2048}
//   gpus: 16384                                       # that the job uses; absent: all
//   rates: llama3_2024                                # a shipped name, a file, or {kind: failure_rates, ...} itself
//   checkpoint: {blocking: 30 s, drain: 60 s, interval: best}
//   restart: {detection: 5 min, schedule: 2 min, load: 2 min, warm_up: 1 min}
//   simulation: {for: 54 d, runs: 100, seed: 1}
//
// `weft goodput` runs it. It is a command of its own and no section of a scenario: a step takes milliseconds on a clock of
// picoseconds, failures take hours on a clock of microseconds, and nothing of one run is of use to the other but a number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/planning/reliability/failure_rates.h"
#include "sim/planning/reliability/goodput.h"

namespace weft::plan {

struct RestartParts {
  LongTime detection;
  LongTime schedule;  // replace what broke, start processes
  LongTime load;      // the checkpoint
  LongTime warm_up;   // until steps take their usual time
  [[nodiscard]] LongTime total() const { return detection + schedule + load + warm_up; }
};

struct GoodputJob {
  std::string name;
  std::string cluster;  // its name; empty: components were stated
  ComponentCounts components;
  FailureRates rates;
  RestartParts restart;
  GoodputInput input;
  bool best_interval = false;  // asked for; input has it
  ConfigNode resolved;
};
[[nodiscard]] GoodputJob load_goodput_job(const std::filesystem::path& file,
                                          const std::vector<std::pair<std::string, std::string>>& sets,
                                          std::optional<std::uint64_t> seed, Diagnostics& diagnostics);

struct GoodputReport {
  Goodput simulated;
  double daly = 0;
  double young = 0;
  LongTime young_best;
  LongTime daly_best;
  std::vector<IntervalPoint> curve;
  std::size_t best = 0;  // index into curve of the best simulated interval
  std::uint64_t digest = 0;
};
[[nodiscard]] GoodputReport run_goodput(const GoodputJob& job);

}  // namespace weft::plan
