// Writes the JSON of `weft size`.
#pragma once

#include <ostream>
#include <vector>

#include "sim/core/result_header.h"
#include "sim/planning/sizing/size.h"

namespace weft::output {

void write_size_result(std::ostream& out, const ResultHeader& header, const plan::SizeQuestion& question,
                       const std::vector<plan::SizedCluster>& clusters);

}  // namespace weft::output
