// Matrix products as cuBLAS runs them for PyTorch on Hopper, with what goes with them: a memset of the counter that hands out
// tiles, or none where the tiles are dealt out beforehand; a reduction where the inner dimension is split.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

// y[rows, out] = x[rows, in] W[in, out], `batch` of them in one kernel.
struct Linear {
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t batch = 1;
  bool bias = false;
};

// The memset of 4 bytes before a kernel that takes its tiles from a counter.
void dynamic_counter(StepEmitter& emit);
void matmul(StepEmitter& emit, const Linear& linear, std::string_view name);
void input_gradient(StepEmitter& emit, const Linear& linear, std::string_view name);
void weight_gradient(StepEmitter& emit, const Linear& linear, std::string_view name);

}  // namespace weft::work
