// PyTorch under torch.compile, a block at a time, as torchtitan runs it: kernels fused much as Megatron's are, with FSDP2's
// copies, DTensor's tensor parallelism, which blocks, and fp8 scaled dynamically. What is fused was read off kernels of Llama-3
// 8B's blocks on an H100 (validate/measured/h100x1_torch.json, PyTorch 2.11).
#include "sim/workloads/training/megatron_operators.h"

namespace weft::work {
namespace {

// Complex numbers are not fused: cast to fp32 (2 B to 4 B), multiplied (4 B to 4 B), cast back and laid out (4 B to 2 B).
constexpr double kRotaryBytes = 6 + 8 + 6;

}  // namespace

const Registration<LayerOperators> pytorch_compile{
    .name = "pytorch_compile",
    .summary = "blocks under torch.compile, FSDP2 and DTensor, as torchtitan runs them",
    .make =
        [](ParamReader&) {
          return fused_operators({.traits = {.copies_gradients = true,
                                             .blocks_on_tensor = true,
                                             .keeps_gathered = true,
                                             .scales_dynamically = true},
                                  .rotary_bytes = kRotaryBytes,
                                  .activation_again_in_backward = true,
                                  .stops_recomputing_early = true});
        },
    .model = {.assumes = "Training steps under torch.compile, a block at a time: the operators of megatron, with FSDP2's and "
                         "DDP's copies, rotary embedding by complex numbers that are not fused, an activation that "
                         "recomputation by operators leaves to its backward kernel, tensor-parallel communication that blocks "
                         "unless overlap_tensor, gathered inputs kept for the weight gradient, and fp8 operands scaled by "
                         "their largest element.",
              .leaves_out = {"pytorch_compile: what a residual sum could share with the norm after it is not fused",
                             "pytorch_compile: asynchronous tensor parallelism is overlap_tensor's"},
              .sources = {"validate/measured/h100x1_torch.json", "validate/measured/h200x2_torch.json", "torchtitan"},
              .files = {"workloads/training/megatron_linear.cpp"}},
};

}  // namespace weft::work
