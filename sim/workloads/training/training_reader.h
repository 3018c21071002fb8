// Reads a training step from the `workload:` map of a scenario.
//
//   workload:
//     model: llama3_8b                 # a shipped model, a file of ours or of Hugging Face's, or a map (model_reader.h)
//     parallelism: {tensor: 4, data: 16}                        # plan_reader.h, as the next two
//     batch: {global: 128, micro: 1, sequence: 8192}
//     precision: {compute: fp8}
//     framework: megatron              # or pytorch_eager, pytorch_compile
//     optimizer: {type: adam_fused, clip_grad_norm: true}
//     experts: {imbalance: 1.2, capacity_factor: 1.25}
//     lora: {rank: 16, targets: [qkv, proj]}
//     convention: causal               # of FLOPs: causal, full, six_n
//     cuda_graph: false
//     cuda_graph_modules: [attention, router]    # of Megatron-LM, in place of the whole
//     fused_loss: true
//     flash_attention: true
//     transformer_impl: transformer_engine                      # or local, of Megatron-LM
//     storage, checkpoint, data_loading: storage_reader.h
#pragma once

#include "sim/core/config/params.h"
#include "sim/workloads/training/training.h"

namespace weft::work {

// `ranks`: endpoints there are; 0: not known. Errors go to the reader's diagnostics, and the setup is not to be used then. The
// caller finishes the reader, and may read further keys from it.
[[nodiscard]] TrainingSetup read_training(ParamReader& workload, std::size_t ranks);

}  // namespace weft::work
