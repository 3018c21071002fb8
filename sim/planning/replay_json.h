// Writes replays and summaries of traces as JSON.
#pragma once

#include <iosfwd>

#include "sim/planning/replay_run.h"
#include "sim/planning/result_header.h"

namespace weft::plan {

void write_replay_result(std::ostream& out, const ResultHeader& header, const work::Trace& trace, const ReplayRunResult& result,
                         double wall_seconds);
void write_trace_summary(std::ostream& out, const work::Trace& trace, const work::TraceSummary& summary);

}  // namespace weft::plan
