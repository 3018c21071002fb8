// The parts of model_texts(). Private to explain.
#pragma once

#include <vector>

#include "sim/output/explain/explain.h"

namespace weft::output {

// Algorithms of the textbooks and of other libraries, and MSCCL's.
[[nodiscard]] const std::vector<ModelText>& library_algorithm_texts();
// NCCL's algorithms besides its ring.
[[nodiscard]] const std::vector<ModelText>& nccl_algorithm_texts();
// Congestion controls of packet fidelity.
[[nodiscard]] const std::vector<ModelText>& congestion_texts();
[[nodiscard]] const std::vector<ModelText>& packet_texts();
// Kernels of a GPU.
[[nodiscard]] const std::vector<ModelText>& kernel_texts();
[[nodiscard]] const std::vector<ModelText>& transformer_texts();
// How programs are run.
[[nodiscard]] const std::vector<ModelText>& replay_texts();
[[nodiscard]] const std::vector<ModelText>& training_texts();
// Cost, power, failures.
[[nodiscard]] const std::vector<ModelText>& planning_texts();
// Inference serving.
[[nodiscard]] const std::vector<ModelText>& inference_texts();

}  // namespace weft::output
