// The result file of `weft goodput`.
#pragma once

#include <iosfwd>

#include "sim/planning/reliability/goodput_job.h"
#include "sim/planning/result_header.h"

namespace weft::plan {

void write_goodput_result(std::ostream& out, const ResultHeader& header, const GoodputJob& job, const GoodputReport& report);

}  // namespace weft::plan
