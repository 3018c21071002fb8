// Reads storage and what uses it from the `workload:` map of a training step.
//
//   storage:
//     local: {write: 6 GB/s, read: 12 GB/s}                            # drives of each node
//     file_system: {write: 2 TB/s, read: 2 TB/s, per_node: 50 GB/s}    # shared by all; per_node: each way, no limit if absent
//   checkpoint:
//     every: 1                  # steps
//     to: file_system           # or local
//     through: host             # its memory, or gpudirect
//     asynchronous: true        # through the host only, and the default there
//     optimizer: true           # its states too
//     restore: false            # the first step begins with reading one
//   data_loading:
//     bytes_per_sequence: 16 KiB    # default: 4 B a token
//     from: file_system             # or local
//     prefetch: true
#pragma once

#include "sim/core/config/params.h"
#include "sim/workloads/training/training.h"

namespace weft::work {

// After batch was read. Errors go to the reader's diagnostics.
void read_storage(ParamReader& workload, TrainingSetup& setup);

}  // namespace weft::work
