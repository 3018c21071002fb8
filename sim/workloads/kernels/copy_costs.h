// Costs of a copy beyond its bytes on the links, from start to start of copies that wait for each other. Measured at 4 KiB to 1
// GiB on two H200 (validate/measured).
#pragma once

#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::work {

using namespace literals;

struct CopyCosts {
  Duration engine_start = 2'600_ns;  // by a copy engine
  Duration join = 1'100_ns;          // of several that start together and are waited for together
  double pcie_share = 0.96;          // of a PCIe link's rate, what engines reach
  Duration block_start = 2'250_ns;   // by thread blocks, which then wait for their last bytes to be acknowledged
};
extern const ParamGroup<CopyCosts> copy_costs;

}  // namespace weft::work
