// The texts on inference serving.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& inference_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"inference", "serving", "kv_cache", "continuous_batching", "disaggregated"},
       .title = "serving of requests: engines that batch continuously, caches of keys and values, prefill apart from decoding",
       .assumes = "An engine takes step after step: one token of every running answer, and pieces of waiting prompts up to a "
                  "token budget. A step's time is that of its kernels (`weft explain kernels`), of NCCL's collectives over its "
                  "GPUs as they run on the idle machine, and of launches. Weights are read once, and so are the experts that "
                  "any token meets. The cache is paged; what is left of the memory's share after weights and activations holds "
                  "it. Disaggregated, a prompt's cache moves over the fabric, beside the others'.",
       .leaves_out =
           {"inference: kernels are fused as vLLM and TensorRT-LLM fuse them; quantizing activations costs nothing",
            "inference: requests are spread evenly over an engine's attention groups, routing over experts is uniform",
            "inference: prompts of a step share one attention kernel of mean length; windows cut the mean context",
            "inference: an engine's messages meet no other traffic, and nothing of a step overlaps",
            "inference: experts' tokens move by NCCL's all-to-all, not by kernels made for it such as DeepEP's",
            "inference: sizes of messages between powers of two take times on a straight line between theirs",
            "inference: a CUDA graph's kernels cost inference.engine.graph_kernel in place of fixed times, gaps and launches",
            "inference: states of recurrent layers, which do not grow with the prompt, are not sent from prefill to decoding",
            "inference: no prefix is shared between requests; windows do not shrink the cache",
            "inference: an engine, once chosen for a request, keeps it; requests and tokens travel at once",
            "inference: the memory that context and NCCL's buffers take is in what kv_cache.utilization leaves"},
       .sources = {"models/workloads §6, §4.3, §4.4", "DeepSeek-V3 §3.4 (attention groups, expert parallelism)",
                   "Kwon et al., 2023 (paged caches, preemption)", "Agrawal et al., 2024 (chunked prefill)",
                   "Zhong et al., 2024 (disaggregation)", "Leviathan et al., 2023 (speculative decoding)"},
       .files = {"workloads/inference/batch_scheduler.h", "workloads/inference/cache_pieces.h",
                 "workloads/inference/engine_memory.h", "workloads/inference/engine_messages.h",
                 "workloads/inference/layer_kernels.h", "workloads/inference/serving.h", "workloads/inference/step_times.h"}},
  };
  return texts;
}

}  // namespace weft::output
