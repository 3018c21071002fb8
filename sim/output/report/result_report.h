// A report from result files: what `weft run`, collective, compare, goodput and topo write with --json, several on one page.
//
// Every result gets its figures as tables and charts, the profile it used and what error that profile stated, its warnings,
// what its models leave out, and the command that makes it again. Reads JSON only: nothing is simulated.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/output/report/document.h"

namespace weft::output {

// ConfigError where a file is no result of weft.
[[nodiscard]] Document result_report(const std::vector<std::filesystem::path>& results, const std::string& title);

}  // namespace weft::output
