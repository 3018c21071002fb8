// Writes replays and summaries of traces as JSON.
#pragma once

#include <iosfwd>

#include "sim/core/result_header.h"
#include "sim/scenario/replay_run.h"

namespace weft::output {

void write_replay_result(std::ostream& out, const ResultHeader& header, const work::Trace& trace,
                         const scenario::ReplayRunResult& result, double wall_seconds);
void write_trace_summary(std::ostream& out, const work::Trace& trace, const work::TraceSummary& summary);

}  // namespace weft::output
