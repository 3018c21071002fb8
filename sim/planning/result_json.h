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

#include "sim/planning/collective_sweep.h"
#include "sim/planning/compare.h"
#include "sim/planning/configuration_text.h"
#include "sim/planning/result_header.h"
#include "sim/planning/run_scenario.h"
#include "sim/planning/scenario.h"

namespace weft::plan {

void write_collective_result(std::ostream& out, const ResultHeader& header, const SweepResult& result, std::string_view type);
void write_run_result(std::ostream& out, const ResultHeader& header, const Scenario& scenario, const RunResult& result);
void write_compare_result(std::ostream& out, const ResultHeader& header, const Comparison& comparison);

}  // namespace weft::plan
