// Says what a kernel of a PyTorch profile computes, from its name and the shapes of the operator that launched it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workloads/trace/kineto/kineto_events.h"

namespace weft::measured {

// Fields of a row of a kernel log (measurements/kernel_log.h), as they are written there.
struct TracedShape {
  std::string kind = {};
  std::string fields = {};  // `"kind": "gemm", "m": 2048, ...`
};

// Tensors are of bf16. None where no class of kernels is meant for it.
[[nodiscard]] std::optional<TracedShape> traced_shape(std::string_view operation,
                                                      const std::vector<work::kineto::OperatorInput>& inputs,
                                                      std::string_view kernel, std::int64_t blocks);

// More of what is known of it: `"static": true`.
void add_flag(TracedShape& shape, std::string_view name, bool value);

}  // namespace weft::measured
