// Prints what a person wants of a training step first.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/apps/output.h"
#include "sim/scenario/training_jobs_run.h"
#include "sim/scenario/training_run.h"
#include "sim/workloads/training/training.h"

namespace weft::apps {

// "gemm 31.96 ms, other comm 1.70 ms", the longest first.
[[nodiscard]] std::string critical_path_text(const std::array<Duration, work::kCategories>& critical, int decimals);

// "# iterations 1000: 4 simulated, 996 skipped as exact repetitions"
[[nodiscard]] std::string iterations_line(const work::ReplayResult& replay);

void print_training(const Report& report, const work::TrainingSetup& setup, const scenario::TrainingResult& result);
void print_training_jobs(const Report& report, const std::vector<scenario::TrainingJobResult>& jobs);

}  // namespace weft::apps
