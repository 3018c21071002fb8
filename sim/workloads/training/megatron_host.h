// The host's part in a layer of experts under Megatron-LM and Transformer Engine, where no CUDA graph has it. These are
// operators that it issues from Python beside the launches, and the wait for the counts of tokens that the experts' kernels
// need.
//
// Operators were counted in the sources, each where it is called (megatron_host.cpp). The price of one is that of Hugging
// Face's (gpu.stream.host_operator), fitted there to a small step. Nothing is fitted to mixtures of experts.
//
// Model: the host of dense layers under Megatron-LM costs launches only. Their kernels are longer than what the host takes for
// them.
#pragma once

#include "sim/workloads/training/step_emitter.h"

namespace weft::work::megatron_host {

// Parts of a layer in the order in which they are issued. Of the router and of all that is around the experts a CUDA graph may
// take care (workload.cuda_graph_modules).
void around_forward(StepEmitter& emit);
void router_forward(StepEmitter& emit);
void dispatch_forward(StepEmitter& emit);
// Issued before the first grouped product, and after one began: the other experts' kernels while the first ones run.
void experts_forward(StepEmitter& emit);
void grouped_forward(StepEmitter& emit);
void combine_forward(StepEmitter& emit);

void around_backward(StepEmitter& emit, BackwardPart part);
void router_backward(StepEmitter& emit, BackwardPart part);
void dispatch_backward(StepEmitter& emit, BackwardPart part);
void experts_backward(StepEmitter& emit, BackwardPart part);
void grouped_backward(StepEmitter& emit, BackwardPart part);
void combine_backward(StepEmitter& emit, BackwardPart part);

// The host goes on when the GPU has told how many tokens each expert gets.
void wait_for_counts(StepEmitter& emit);

}  // namespace weft::work::megatron_host
