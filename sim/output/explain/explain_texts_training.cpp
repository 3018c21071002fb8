// The texts on training steps: what frameworks run, and what is left out of it.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& training_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"training", "pytorch_eager"},
       .title = "training steps of PyTorch in eager mode: every operator a kernel of its own",
       .assumes =
           "the operators of a gated block with one matrix for Q, K and V and one for gate and up projection, unfused loss, "
           "gradients scaled and accumulated by kernels, Adam in launches of 21 million elements; DDP's buckets in the order "
           "of the backward pass, FSDP2's units with its copies and streams.",
       .leaves_out = {"pytorch_eager: rotary embedding and dropout have no kernels",
                      "pytorch_eager: a layer's activations live until its backward pass ends",
                      "ddp: old buckets are counted in every step's peak, as they are there once in a run",
                      "fsdp: every microbatch gathers and reduces"},
       .sources = {"models/training_steps §3 to §5", "Li et al., PyTorch Distributed, VLDB 2020",
                   "Zhao et al., PyTorch FSDP, 2023"},
       .files = {"workloads/training/eager_operators.cpp", "workloads/training/ddp_sync.cpp",
                 "workloads/training/fsdp_sync.cpp"}},
      {.names = {"deepspeed_2021"},
       .title = "ZeRO-3 as DeepSpeed had it in 2021",
       .assumes =
           "every matrix is gathered by a call of its own before the module that needs it, forward, in recomputation and "
           "backward, and its gradient reduced by another; a call takes a list of one tensor per rank, for which the host "
           "waits for the GPU and then pays operators in proportion to the ranks (gpu.stream.host_operator).",
       .leaves_out = {"deepspeed_2021: nothing is prefetched, as where two matrices exceed max_live_parameters",
                      "deepspeed_2021: a layer's gathers come together before its first kernel",
                      "deepspeed_2021: the allocator's own pauses where memory is nearly full"},
       .sources = {"DeepSpeed 0.3: runtime/zero/partition_parameters.py and stage3.py", "models/workloads §2.3, §4.4"},
       .files = {"workloads/training/deepspeed_sync.cpp"}},
      {.names = {"megatron"},
       .title = "training steps of Megatron-LM: fused kernels, tensor, sequence, context and expert parallelism",
       .assumes =
           "one kernel each for norm, activation, rotary embedding and residual, cross entropy in two passes, weight "
           "gradients accumulated by their GEMMs; tensor-parallel communication blocks forward and runs beside the other "
           "GEMM backward; gradients and parameters in contiguous buffers and buckets.",
       .leaves_out = {"megatron: gradients of biases and norms are added to their buffers at no cost",
                      "megatron: padding of buckets to even shards",
                      "megatron: modules of multi-token prediction and dropout are not run",
                      "overlap_tensor: the collective is cut in two, that which is exposed and the rest; the GEMM stays whole",
                      "context parallelism: causal work is spread exactly evenly",
                      "experts: all ranks of an expert group do what the most loaded one does",
                      "experts: copies of a token to one node travel as one where routing is node-limited, else apart"},
       .sources = {"models/workloads §2", "Narayanan et al., 2021", "Korthikanti et al., 2022", "Megatron-core"},
       .files = {"workloads/training/megatron_operators.cpp", "workloads/training/megatron_linear.cpp",
                 "workloads/training/megatron_attention.cpp", "workloads/training/buffer_sync.cpp",
                 "workloads/training/stage_model.h"}},
      {.names = {"training_jobs"},
       .title = "several training jobs on one cluster",
       .assumes = "each job is run alone, then all together on the same links from their starts on; slowdown is the ratio of "
                  "their mean iterations.",
       .leaves_out = {"clocks: a job keeps those it has alone", "symmetry: every rank of every job is simulated"},
       .sources = {"models/workloads §2.11"},
       .files = {"scenario/training_jobs_run.h"}},
      {.names = {"pytorch_compile"},
       .title = "training steps under torch.compile, a block at a time, as torchtitan runs them",
       .assumes = "the operators of megatron, with FSDP2's and DDP's copies, rotary embedding by complex numbers that are "
                  "not fused, an activation that recomputation by operators leaves to its backward kernel, tensor-parallel "
                  "communication that blocks unless overlap_tensor, gathered inputs kept for the weight gradient, and fp8 "
                  "operands scaled by their largest element.",
       .leaves_out = {"pytorch_compile: what a residual sum could share with the norm after it is not fused",
                      "pytorch_compile: asynchronous tensor parallelism is overlap_tensor's"},
       .sources = {"validate/measured/h100x1_torch.json", "validate/measured/h200x2_torch.json", "torchtitan"},
       .files = {"workloads/training/pytorch_compile.cpp", "workloads/training/megatron_linear.cpp"}},
      {.names = {"pipeline"},
       .title = "pipeline stages of a training step: the schedule's order, and messages between stages",
       .assumes = "each stage runs its schedule's order; sends and receives have a stream per neighbour and direction.",
       .leaves_out = {"pipeline: a receive is posted when the operation before it has ended, or one earlier where it overlaps",
                      "dualpipe: the two copies of a stage do not exchange their gradients"},
       .sources = {"models/workloads §2.6, §3"},
       .files = {"workloads/training/stage_program.h"}},
  };
  return texts;
}

}  // namespace weft::output
