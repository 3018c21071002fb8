// Saving and restoring of checkpoints: parameters and the optimizer's states, between GPUs, host memory and storage
// (models/workloads §7.1).
//
// Each of the ranks that hold the same parameters writes an equal part, as Megatron's and PyTorch's distributed checkpoints do.
// Together they write everything once. An asynchronous checkpoint is copied to the host's memory, for which the next step
// waits, and is written from there beside the steps that follow. The next checkpoint's copy waits until that is done.
//
// Model: what tensor-parallel ranks hold alike (norms, routers, an embedding that is not split) each of them writes; of
// adapters (LoRA) only they are written.
//
// Model: a checkpoint is written to storage when all of the rank's part is in the host's memory, which is never full.
//
// Model: every rank reads all that it holds when it restores.
#pragma once

#include "sim/workloads/training/stage_model.h"
#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

// Returns what one rank of a stage with these (trainable) parameters writes: 14 B a parameter with Adam in mixed precision,
// over the replicas.
[[nodiscard]] Bytes saved_bytes(const TrainingSetup& setup, const StageParameters& parameters);

// At the end of a step, after the optimizer. setup.checkpoint must be there.
void save_checkpoint(StepEmitter& emit, Bytes bytes);
// At the begin of the first step, whose compute waits for it.
void restore_checkpoint(StepEmitter& emit, Bytes bytes);

}  // namespace weft::work
