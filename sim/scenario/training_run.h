// A training step from setup to figures: generates the program, runs it, and says what a planner asks for (definitions:
// models/workloads §2.11), whether it fits among it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/program_run.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/training/training.h"

namespace weft::scenario {

// Memory of the rank that holds most, without the CUDA context and NCCL's buffers.
struct MemoryParts {
  Rank rank = 0;
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // and what else comes and goes during a step, at its peak
  double reserved = 0;     // that PyTorch's allocator keeps, apart by stream; 0: not told apart
  double capacity = 0;     // of the GPU
  [[nodiscard]] double total() const { return parameters + gradients + optimizer + activations; }
  [[nodiscard]] bool fits() const;  // with kReservedBytes
};

// One rank of each kind, and how many it stands for.
struct RankReport {
  Rank rank = 0;
  std::int64_t stands_for = 1;
  work::RankTimes times;  // of the last iteration
  double peak_bytes = 0;
};

struct TrainingResult {
  ProgramRunResult run;
  Duration iteration;  // the last one
  double tokens_per_second = 0;
  double model_tflops_per_gpu = 0;
  double mfu = 0;
  double hfu = 0;
  std::string convention;  // of the FLOPs
  std::string peak_name;   // "bf16 dense, 989 TFLOP/s"
  MemoryParts memory;
  work::RankTimes mean;  // over all ranks, of the last iteration
  std::vector<RankReport> ranks;
  std::array<Duration, work::kCategories> critical{};  // time on the critical path
  std::int64_t gpus = 0;
  double bubble_share = 0;
  std::size_t leaders = 0;
  std::optional<std::int64_t> recomputed_layers = {};  // of each chunk, as `recompute: as_needed` found
  std::vector<std::string> notes;
};

// Context, NCCL buffers and fragmentation that the allocator's peak leaves out (models/workloads §1.5), for the check that a
// step fits.
inline constexpr double kReservedBytes = 2e9;

// Reads a step's figures from the run of its program.
[[nodiscard]] TrainingResult training_figures(const work::TrainingSetup& setup, const net::Cluster& cluster,
                                              const work::Program& program, ProgramRunResult run);

// Where a rank does not fit its GPU: a ConfigError with what it holds and what would fit; a note of the result where the
// scenario says `simulation: {must_fit: false}`.
void check_memory(const Scenario& scenario, const work::TrainingSetup& setup, TrainingResult& result);

[[nodiscard]] TrainingResult run_training(const Scenario& scenario, RunObserver* observer = nullptr,
                                          work::ReplayObserver* operations = nullptr);
// Runs this setup in place of the scenario's. `group_runs`: shared_runs(scenario), or null.
[[nodiscard]] TrainingResult run_training(const Scenario& scenario, const work::TrainingSetup& setup,
                                          RunObserver* observer = nullptr, work::ReplayObserver* operations = nullptr,
                                          std::shared_ptr<work::GroupRuns> group_runs = nullptr);
// Returns what many steps on the scenario's cluster can share; their results are the same with it and without.
[[nodiscard]] std::shared_ptr<work::GroupRuns> shared_runs(const Scenario& scenario);

}  // namespace weft::scenario
