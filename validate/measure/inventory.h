// This node's GPUs, for the plan and for the header of a file.
#pragma once

#include <string>

#include "plan.h"

namespace weft::measure {

struct Inventory {
  NodeFacts node;
  std::string machine;  // a JSON object
};

// Throws std::runtime_error if there is no GPU, with CUDA's reason.
[[nodiscard]] Inventory take_inventory(bool with_hostname);

}  // namespace weft::measure
