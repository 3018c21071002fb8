// The parts of a run's result that tell of its network: flows, jobs, ports, pauses, series, deadlock. As JSON members of an
// open object, and series as CSV. Keys are a contract that programs rely on.
#pragma once

#include <iosfwd>

#include "sim/core/json_writer.h"
#include "sim/network/topology.h"
#include "sim/scenario/run_scenario.h"

namespace weft::output {

void write_flows(JsonWriter& json, const scenario::RunResult& result);
void write_jobs(JsonWriter& json, const work::Workload& workload, const scenario::RunResult& result);
void write_network(JsonWriter& json, const net::Topology& topology, const scenario::NetworkReport& report);

// One line a sample: time_ns, then a column for each series, "queue s0->h1". What has no value is empty.
void write_series_csv(std::ostream& out, const scenario::NetworkReport& report);

}  // namespace weft::output
