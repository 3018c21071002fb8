// Takes out of recorded kernels what communication beside them cost, so that the Replayer, which applies that cost by what runs
// beside what in the simulation, does not count it twice.
//
// Model: a kernel recorded beside communication was slowed by its class's factor (gpu.contention of the cluster's profile) for
// as long as the communication kernel was there; a GEMM that splits its tiles statically by min(T, rest). Replayed as recorded
// this gives the recorded durations back, whatever the factors; on other hardware kernels are slowed by what is beside them
// then.
#pragma once

#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/trace/trace.h"

namespace weft::work {

// Changes the durations of kernels, which contain the gap before them (Operation::duration less the recorded one). Nothing
// where no times are recorded. Returns the time taken out, of all ranks.
Duration remove_contention(Trace& trace, const ContentionCosts& costs);

}  // namespace weft::work
