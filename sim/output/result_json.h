// Result files: what each command writes with --json. Keys are a contract that programs rely on; units stand in the key.
//
// Every file opens alike (result_header.h). Points, flows and links follow, one a line. Streamed: a million flows cost no
// memory here.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result_header.h"
#include "sim/planning/compare.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/scenario/configuration_text.h"
#include "sim/scenario/run_scenario.h"
#include "sim/scenario/scenario.h"

namespace weft::output {

void write_collective_result(std::ostream& out, const ResultHeader& header, const scenario::SweepResult& result,
                             std::string_view type);
void write_run_result(std::ostream& out, const ResultHeader& header, const scenario::Scenario& scenario,
                      const scenario::RunResult& result);
void write_compare_result(std::ostream& out, const ResultHeader& header, const plan::Comparison& comparison);

}  // namespace weft::output
