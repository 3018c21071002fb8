// A step's training data on its way from storage to the GPUs.
//
// Model: every rank of the first and the last stage reads the sequences of its replica, its part of them under context
// parallelism, in one access a step, and computes when they are there; tokenizing and shuffling cost nothing.
#pragma once

#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

// At the begin of a step. setup.data_loading must be there.
void load_data(StepEmitter& emit);

}  // namespace weft::work
