// The result file of `weft goodput`.
#pragma once

#include <iosfwd>

#include "sim/core/result_header.h"
#include "sim/planning/reliability/goodput_job.h"

namespace weft::output {

void write_goodput_result(std::ostream& out, const ResultHeader& header, const plan::GoodputJob& job,
                          const plan::GoodputReport& report);

}  // namespace weft::output
