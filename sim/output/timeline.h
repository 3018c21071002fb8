// Timelines in the Chrome trace format, which Perfetto and chrome://tracing open: who was busy with what, when.
//
// Collectives: one track per rank up to 64 ranks, one for all above; a call fills the track of every rank for as long as it
// took. Below them, where steps were recorded (step_timeline.h), the slices of the loop's first calls.
//
// Flows: one process per source; flows of a source that overlap in time go to lanes of it.
//
// Times are in microseconds, exact to the picosecond.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "sim/collectives/runner.h"
#include "sim/network/topology.h"
#include "sim/output/step_timeline.h"
#include "sim/workloads/flow_run.h"
#include "sim/workloads/workload.h"

namespace weft::output {

inline constexpr int kMaxRankTracks = 64;
// Calls of one item that get a span each; the rest of them share one.
inline constexpr std::int64_t kMaxCallSpans = 1'000;
// Lanes of one source; flows beyond them are left out, and the track's name says how many.
inline constexpr std::size_t kMaxFlowLanes = 256;

// Results one after another; `counts` says how often each was called, and may be empty for once. `steps`: of each result, or
// null.
void write_collective_timeline(std::ostream& out, std::span<const coll::CollectiveResult> results,
                               std::span<const std::int64_t> counts, const StepTimeline* steps = nullptr);

// Flows that did not end are left out.
void write_flow_timeline(std::ostream& out, const net::Topology& topology, std::span<const work::FlowItem> flows,
                         std::span<const work::FlowResult> results);

}  // namespace weft::output
